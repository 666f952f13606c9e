# kernelwright evaluate matmul_bias_relu 2_onednn_prepacked.py
#
# Change: prepare() lets oneDNN choose its own weight layout for this number of rows, and bias and ReLU run in the
# epilogue of its product: no packing at run time and no pass over the result. Whether that beats MKL depends on the CPU.
import torch


class ModelNew(torch.nn.Module):
    """relu(x @ weight.T + bias); takes two parameters in the order weight, bias, however they are called."""

    def __init__(self, *sizes):
        super().__init__()

    def load_state_dict(self, state, strict=True):
        self.weight, self.bias = (t.detach().clone() for t in state.values())

    def prepare(self):
        self.packed = torch.ops.mkldnn._reorder_linear_weight(self.weight, None)

    def forward(self, x):
        return torch.ops.mkldnn._linear_pointwise(x, self.packed, self.bias, "relu", [], "")
