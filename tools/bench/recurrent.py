"""Recurrent networks for parity.py, written as users write them: classifiers of sequences (the rows of an image, one
after the other), a tagger, a language model, a reader of text lines."""
import torch
from torch import nn

from transformers import VOCABULARY

SIZE, HIDDEN, CLASSES = 24, 20, 1000


def rows(x):
    """The rows of images as sequences: [samples, rows, channels · columns]."""
    return x.permute(0, 2, 1, 3).flatten(2)


class OfLastStep(nn.Module):
    def __init__(self, recurrent):
        super().__init__()
        self.recurrent = recurrent
        self.head = nn.Linear(HIDDEN * (2 if recurrent.bidirectional else 1), CLASSES)

    def forward(self, x):
        return self.head(self.recurrent(rows(x))[0][:, -1])


class OfLastState(nn.Module):
    """With trained initial states, and with the steps as first dimension."""

    def __init__(self):
        super().__init__()
        self.recurrent = nn.LSTM(3 * SIZE, HIDDEN, bidirectional=True)
        self.h, self.c = (nn.Parameter(0.5 * torch.randn(2, 1, HIDDEN)) for _ in range(2))
        self.head = nn.Linear(4 * HIDDEN, CLASSES)

    def forward(self, x):
        states = [state.expand(-1, x.size(0), -1).contiguous() for state in (self.h, self.c)]
        _, (h, c) = self.recurrent(rows(x).transpose(0, 1), (states[0], states[1]))
        return self.head(torch.cat((h[0], h[1], c[0], c[1]), dim=1))


class OfAllSteps(nn.Module):
    def __init__(self, recurrent):
        super().__init__()
        self.recurrent, self.head = recurrent, nn.Linear(2 * HIDDEN, CLASSES)

    def forward(self, x):
        return self.head(self.recurrent(rows(x))[0].mean(1))


class OfTokens(nn.Module):
    def __init__(self, recurrent):
        super().__init__()
        self.embedding, self.recurrent = nn.Embedding(VOCABULARY, 16), recurrent
        self.head = nn.Linear(HIDDEN * (2 if recurrent.bidirectional else 1), VOCABULARY)

    def forward(self, ids):
        return self.head(self.recurrent(self.embedding(ids))[0])


class OfColumns(nn.Module):
    """Convolutions, then a recurrent network over the columns, as for reading lines of text."""

    def __init__(self):
        super().__init__()
        self.images = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
                                    nn.Conv2d(8, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d((2, 1)))
        self.recurrent = nn.LSTM(16 * SIZE // 4, HIDDEN, bidirectional=True, batch_first=True)
        self.head = nn.Linear(2 * HIDDEN, CLASSES)

    def forward(self, x):
        columns = self.images(x).permute(0, 3, 1, 2).flatten(2)
        return self.head(self.recurrent(columns)[0].mean(1))


def make_lstm():
    return OfLastStep(nn.LSTM(3 * SIZE, HIDDEN, num_layers=2, batch_first=True))


def make_lstm_states():
    return OfLastState()


def make_gru():
    return OfAllSteps(nn.GRU(3 * SIZE, HIDDEN, num_layers=2, bidirectional=True, batch_first=True))


def make_rnn():
    return OfLastStep(nn.RNN(3 * SIZE, HIDDEN, num_layers=2, batch_first=True))


class OfPackedTokens(OfTokens):
    """Sequences of different lengths, in any order. The first token says the length."""

    def forward(self, x):
        lengths = 1 + x[:, 0] % x.shape[1]
        packed = nn.utils.rnn.pack_padded_sequence(self.embedding(x), lengths, batch_first=True, enforce_sorted=False)
        y, _ = nn.utils.rnn.pad_packed_sequence(self.recurrent(packed)[0], batch_first=True, total_length=x.shape[1])
        return self.head(y)


def make_tagger():
    return OfTokens(nn.LSTM(16, HIDDEN, bidirectional=True, batch_first=True))


def make_packed():
    return OfPackedTokens(nn.LSTM(16, HIDDEN, num_layers=2, bidirectional=True, batch_first=True))


def make_language_model():
    return OfTokens(nn.LSTM(16, HIDDEN, num_layers=2, batch_first=True))


def make_cnn_lstm():
    return OfColumns()
