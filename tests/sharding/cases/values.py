"""Reports whose loaders are right and whose numbers aren't: no ledger shows them, `labkit.metrics.audit` does."""

from __future__ import annotations

import torch
from case import Case

from labkit.metrics import auc, audit


def mean(predictions, targets):
    return float(predictions.double().mean())


def accuracy(predictions, targets):
    return float((predictions == targets).double().mean())


def token_loss(predictions, targets):
    """predictions: a sequence's summed loss; targets: its tokens."""
    return float(predictions.double().sum() / targets.double().sum())


class TokenLoss:
    """The same, reduced before it is divided."""

    def __init__(self):
        self.loss = self.tokens = 0.0

    def update(self, predictions, targets):
        self.loss += float(predictions.double().sum())
        self.tokens += float(targets.double().sum())

    def all_reduce(self):
        both = torch.tensor([self.loss, self.tokens], dtype=torch.float64)
        torch.distributed.all_reduce(both)
        self.loss, self.tokens = both.tolist()

    def compute(self):
        return self.loss / self.tokens


VALUES = torch.arange(9.0)
RIGHT = torch.arange(30) % 4 != 0
SCORES = torch.sin(torch.arange(24.0) * 1.7)
LABELS = (torch.cos(torch.arange(24.0) * 2.3) + 0.4 * SCORES > 0).int()
LOSSES = torch.tensor([3.0, 20.0, 1.5, 40.0, 2.0, 18.0, 1.0, 35.0, 2.5])
TOKENS = torch.tensor([2, 10, 1, 30, 2, 12, 1, 25, 1])

CASES = [
    Case(
        "trl#7010",
        "each rank's mean is gathered: a mean of means over unequal shards",
        "mean of means",
        lambda: audit(mean, VALUES, VALUES, ranks=[2]),
        lambda: audit(mean, VALUES, VALUES, ranks=[2], reduction="weighted"),
        by="metrics.audit",
    ),
    Case(
        "lightning#4783",
        "AUC of each rank averaged; the twin gathers first",
        "not a mean",
        lambda: audit(auc, SCORES, LABELS, ranks=[2]),
        lambda: audit(auc, SCORES, LABELS, ranks=[2], reduction="gather"),
        by="metrics.audit",
    ),
    Case(
        "lightning#2924",
        "accuracies of three unequal ranks averaged",
        "mean of means",
        lambda: audit(accuracy, RIGHT, torch.ones(30, dtype=torch.bool), ranks=[3]),
        lambda: audit(accuracy, RIGHT, torch.ones(30, dtype=torch.bool), ranks=[3], reduction="weighted"),
        by="metrics.audit",
    ),
    Case(
        "transformers#34242",
        "a loss a token averaged over ranks with unequal tokens; the twin divides sum by sum",
        "not a mean",
        lambda: audit(token_loss, LOSSES, TOKENS, ranks=[2]),
        lambda: audit(TokenLoss, LOSSES, TOKENS, ranks=[2]),
        by="metrics.audit",
    ),
]
