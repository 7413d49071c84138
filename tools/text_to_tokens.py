#!/usr/bin/env python3
"""Converts any text to a file of token ids for a trainer's --data tokens:FILE: every byte is a token, 0 to 255.

usage: text_to_tokens.py -o train.bin [--held-out eval.bin] [--share 0.1] TEXT…

The format is that of llm.c's shards: 256 int32 (20240520, 1, number of tokens, 0, …), then uint16, in little endian.
--held-out writes the last share of the tokens to a separate file for evaluation.
"""
import argparse
import array
import sys


def write(path, tokens):
    header = array.array("i", [20240520, 1, len(tokens)] + [0] * 253)
    body = array.array("H", list(tokens))
    if sys.byteorder == "big":
        header.byteswap()
        body.byteswap()
    with open(path, "wb") as out:
        out.write(header.tobytes() + body.tobytes())
    print(f"{path}: {len(tokens)} tokens of 256")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("texts", nargs="+", metavar="TEXT")
    parser.add_argument("-o", dest="out", required=True, metavar="FILE")
    parser.add_argument("--held-out", metavar="FILE")
    parser.add_argument("--share", type=float, default=0.1)
    args = parser.parse_args()
    if not 0 < args.share < 1:
        parser.error("--share must be between 0 and 1")
    tokens = b"".join(open(path, "rb").read() for path in args.texts)
    kept = round(len(tokens) * (1 - args.share)) if args.held_out else len(tokens)
    write(args.out, tokens[:kept])
    if args.held_out:
        write(args.held_out, tokens[kept:])


if __name__ == "__main__":
    main()
