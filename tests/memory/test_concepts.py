"""What kind of work texts and torch code are about."""

import pytest

from kernelwright.memory.concepts import agreement, concepts_of, concepts_of_entry, language_hints


@pytest.mark.parametrize(
    ("text", "concepts"),
    [
        ("torch.softmax(x, dim=-1)", {"softmax"}),
        ("softmax(q @ k.T) @ v", {"attention"}),
        ("x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps)", {"rms_norm"}),
        ("(x - x.mean(-1, True)) / torch.sqrt(x.var(-1, keepdim=True) + 1e-5)", {"layer_norm"}),
        ("x / x.norm(dim=-1, keepdim=True)", {"l2_norm"}),
        ("F.relu(self.conv(x))", {"conv", "relu"}),
        ("F.conv2d(x, w, groups=channels)", {"depthwise"}),
        ("running total along a row", {"cumsum"}),
        ("a recipe for apple pie", set()),
    ],
)
def test_texts_and_code_mean_work(text: str, concepts: set[str]) -> None:
    assert concepts_of(text) == concepts


def test_an_alias_that_holds_the_title_says_less_than_the_title() -> None:
    assert concepts_of_entry("Row softmax", ["F.softmax", "attention probabilities"]) == {"softmax"}
    assert concepts_of_entry("Depthwise convolution", ["nn.Conv2d groups"]) == {"depthwise"}


def test_agreement_rewards_what_is_asked_and_charges_what_is_beside() -> None:
    asked = frozenset({"conv", "relu"})
    exact, plain, none = (agreement(asked, frozenset(c)) for c in ({"conv", "relu"}, {"conv"}, {"fft"}))
    assert exact == 1.0 > plain > none == 0.0
    assert agreement(frozenset({"softmax"}), frozenset({"softmax", "fft"})) < 1.0
    assert agreement(frozenset(), asked) == agreement(asked, frozenset()) == 0.0


def test_words_give_a_language_away() -> None:
    assert language_hints("compute_root on the first stage") == {"halide"}
    assert language_hints("gcc does not vectorise this") == {"cpp"}
    assert language_hints("make it faster") == set()
