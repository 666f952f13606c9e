"""Compilers' messages: short, the author's own line in them, nothing of the machine."""


from kernelwright.toolexec.languages.gpu_messages import trimmed_messages

DEEP = "cute::Layout<" * 40 + "int" + ">" * 40
LONG = f"""/opt/lib/include/cute/atom/mma_atom.hpp(1072): error: static assertion failed with "Atom is not for {DEEP}
      static_assert(dependent_false<{DEEP * 20}>, "no");
      ^
          detected during:
            instantiation of "auto cute::thing({DEEP})" at line 300 of /opt/lib/include/cute/algorithm/copy.hpp
            instantiation of "void cute::copy({DEEP * 30})" at line 41 of kernel.cu
            instantiation of "void body<int>()" at line 77

"""


def test_an_error_of_many_kilobytes_keeps_its_message_and_the_authors_line():
    text = trimmed_messages(LONG * 30, own_files=["kernel.cu"], folder="/tmp/somewhere/build")
    assert len(LONG * 30) > 800_000 and len(text) <= 1500
    assert "Atom is not for" in text and "from line 41 of kernel.cu" in text
    assert "/opt" not in text and text.count("static assertion failed") == 1


def test_many_errors_are_counted_and_infos_left_out():
    lines = [f"kernel.cu({n}): error: identifier \"x{n}\" is undefined\n    x{n} = 1;\n    ^" for n in range(40)]
    text = trimmed_messages("ptxas info    : 0 bytes gmem\n" + "\n".join(lines), own_files=["kernel.cu"], folder="/b")
    assert 'kernel.cu(0): error: identifier "x0" is undefined' in text
    assert "35 more errors" in text and "gmem" not in text and len(text) <= 1500


def test_what_is_no_error_is_still_shown():
    assert trimmed_messages("Segmentation fault\n", own_files=[], folder="/b") == "Segmentation fault"
