#!/usr/bin/env python3
"""Which models of timm and of Hugging Face's transformers are planned as PyTorch's exporters write them.

One small model of each family, with random weights, is exported in training mode and planned:

  plimsoll plan MODEL.onnx --batch 4 --budget 100% --costs p100 --effort 0

The exports:

  torchscript   torch.onnx.export(…, dynamo=False), opset 17, dynamic_axes for the batch
  dynamo        torch.onnx.export(…, dynamo=True, optimize=False, dynamic_shapes={…: {0: "batch"}})
  fixed         the same without dynamic_shapes: the batch of the example is written into the file

The table has one row for each model: planned, not exported, or the exit code of plimsoll; below it stands the first error of each
refused model. --markdown writes the table as docs/benchmarks/models.md has it. An exported file is used again while it is in --work.

Needs torch, timm, transformers, onnx and onnxscript: pip install torch timm transformers onnx onnxscript. No weights are downloaded.

usage: coverage.py --plimsoll build/bin/plimsoll [--work DIR] [--exports fixed,dynamo,torchscript] [--models vit,hf_llama]
                   [--example-batch 2] [--only-export] [--markdown FILE]
"""
import argparse
import multiprocessing
import os
import subprocess
import sys
import warnings

# transformers.py of this folder is not the package.
sys.path = [entry for entry in sys.path if os.path.abspath(entry) != os.path.dirname(os.path.abspath(__file__))]

EXPORTS = ("fixed", "dynamo", "torchscript")

# Family: name in timm, side of the images, options that make the model small.
TIMM = {
    "beit": ("beit_base_patch16_224", 224, dict(depth=2)),
    "cait": ("cait_xxs24_224", 224, dict(depth=2)),
    "coat": ("coat_tiny", 224, {}),
    "coatnet": ("coatnet_0_rw_224", 224, {}),
    "convit": ("convit_tiny", 224, dict(depth=2)),
    "convmixer": ("convmixer_768_32", 64, {}),
    "convnext": ("convnext_atto", 64, {}),
    "convnextv2": ("convnextv2_atto", 64, {}),
    "crossvit": ("crossvit_tiny_240", 240, {}),
    "cspnet": ("cspresnet50", 64, {}),
    "davit": ("davit_tiny", 224, {}),
    "deit": ("deit_tiny_patch16_224", 224, dict(depth=2)),
    "densenet": ("densenet121", 64, {}),
    "dla": ("dla34", 64, {}),
    "edgenext": ("edgenext_xx_small", 64, {}),
    "efficientformer": ("efficientformer_l1", 224, {}),
    "efficientnet": ("efficientnet_b0", 64, {}),
    "efficientvit": ("efficientvit_b0", 64, {}),
    "eva": ("eva02_tiny_patch14_224", 224, dict(depth=2)),
    "focalnet": ("focalnet_tiny_srf", 224, {}),
    "ghostnet": ("ghostnet_100", 64, {}),
    "hgnet": ("hgnetv2_b0", 64, {}),
    "hrnet": ("hrnet_w18_small", 64, {}),
    "inception": ("inception_v3", 96, dict(aux_logits=False)),
    "levit": ("levit_128s", 224, {}),
    "maxvit": ("maxvit_rmlp_pico_rw_256", 256, {}),
    "metaformer": ("poolformer_s12", 64, {}),
    "mixer": ("mixer_s32_224", 224, {}),
    "mobilenetv3": ("mobilenetv3_small_100", 64, {}),
    "mobilevit": ("mobilevit_xxs", 256, {}),
    "mvitv2": ("mvitv2_tiny", 224, {}),
    "nfnet": ("nfnet_l0", 64, {}),
    "pit": ("pit_ti_224", 224, {}),
    "pvt_v2": ("pvt_v2_b0", 224, {}),
    "regnet": ("regnety_002", 64, {}),
    "repvgg": ("repvgg_a0", 64, {}),
    "resmlp": ("resmlp_12_224", 224, {}),
    "resnet": ("resnet18", 64, {}),
    "sequencer": ("sequencer2d_s", 224, dict(layers=(1, 1, 1, 1))),
    "swin": ("swin_tiny_patch4_window7_224", 224, dict(depths=(2, 2, 2, 2))),
    "swinv2": ("swinv2_cr_tiny_224", 224, dict(depths=(2, 2, 2, 2))),
    "tiny_vit": ("tiny_vit_5m_224", 224, {}),
    "tnt": ("tnt_s_legacy_patch16_224", 224, dict(depth=2)),
    "twins": ("twins_svt_small", 224, {}),
    "vgg": ("vgg11", 64, {}),
    "vit": ("vit_tiny_patch16_224", 224, dict(depth=2)),
    "volo": ("volo_d1_224", 224, {}),
    "xception": ("xception41", 96, {}),
    "xcit": ("xcit_nano_12_p16_224", 224, dict(depth=2)),
}

TOKENS = dict(vocab_size=96, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64)
LLAMA = dict(**TOKENS, num_key_value_heads=2, max_position_embeddings=64, pad_token_id=0)
IMAGES = dict(image_size=32, patch_size=8, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64,
              num_labels=10)
SPEECH = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64, conv_dim=(16, 16), conv_stride=(5, 4),
              conv_kernel=(10, 8), num_feat_extract_layers=2, num_conv_pos_embeddings=8, num_conv_pos_embedding_groups=4,
              apply_spec_augment=False, num_labels=10, classifier_proj_size=16)

# Family: class of the model, class of its configuration, what is fed, options that make the model small.
TRANSFORMERS = {
    "hf_albert": ("AlbertForSequenceClassification", "AlbertConfig", "tokens", dict(TOKENS, embedding_size=16)),
    "hf_ast": ("ASTForAudioClassification", "ASTConfig", "spectrogram", dict(
        hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64, num_mel_bins=32, max_length=64, num_labels=10)),
    "hf_beit": ("BeitForImageClassification", "BeitConfig", "image", IMAGES),
    "hf_bert": ("BertForSequenceClassification", "BertConfig", "tokens", TOKENS),
    "hf_bert_mask": ("BertForSequenceClassification", "BertConfig", "tokens and mask", TOKENS),
    "hf_convnext": ("ConvNextForImageClassification", "ConvNextConfig", "image", dict(
        hidden_sizes=[8, 16, 32, 64], depths=[1, 1, 1, 1], num_labels=10)),
    "hf_convnextv2": ("ConvNextV2ForImageClassification", "ConvNextV2Config", "image", dict(
        hidden_sizes=[8, 16, 32, 64], depths=[1, 1, 1, 1], num_labels=10)),
    "hf_deit": ("DeiTForImageClassification", "DeiTConfig", "image", IMAGES),
    "hf_dinov2": ("Dinov2ForImageClassification", "Dinov2Config", "image", IMAGES),
    "hf_distilbert": ("DistilBertForSequenceClassification", "DistilBertConfig", "tokens", dict(
        vocab_size=96, dim=32, n_layers=2, n_heads=4, hidden_dim=64)),
    "hf_electra": ("ElectraForSequenceClassification", "ElectraConfig", "tokens", dict(TOKENS, embedding_size=32)),
    "hf_gemma": ("GemmaForCausalLM", "GemmaConfig", "tokens", dict(LLAMA, head_dim=8)),
    "hf_gpt2": ("GPT2LMHeadModel", "GPT2Config", "tokens", dict(vocab_size=96, n_embd=32, n_layer=2, n_head=4, n_positions=64)),
    "hf_gpt_neox": ("GPTNeoXForCausalLM", "GPTNeoXConfig", "tokens", TOKENS),
    "hf_hubert": ("HubertForSequenceClassification", "HubertConfig", "sound", SPEECH),
    "hf_llama": ("LlamaForCausalLM", "LlamaConfig", "tokens", LLAMA),
    "hf_mistral": ("MistralForCausalLM", "MistralConfig", "tokens", dict(LLAMA, head_dim=8)),
    "hf_mobilevit": ("MobileViTForImageClassification", "MobileViTConfig", "image of 64", dict(
        image_size=64, hidden_sizes=[16, 24, 32], neck_hidden_sizes=[8, 8, 16, 16, 24, 32, 64], num_labels=10)),
    "hf_opt": ("OPTForCausalLM", "OPTConfig", "tokens", dict(
        vocab_size=96, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, ffn_dim=64, max_position_embeddings=64,
        word_embed_proj_dim=32)),
    "hf_phi": ("PhiForCausalLM", "PhiConfig", "tokens", dict(LLAMA, num_key_value_heads=4)),
    "hf_phi3": ("Phi3ForCausalLM", "Phi3Config", "tokens", dict(LLAMA)),
    "hf_qwen2": ("Qwen2ForCausalLM", "Qwen2Config", "tokens", LLAMA),
    "hf_qwen3": ("Qwen3ForCausalLM", "Qwen3Config", "tokens", dict(LLAMA, head_dim=8)),
    "hf_roberta": ("RobertaForSequenceClassification", "RobertaConfig", "tokens", dict(TOKENS, pad_token_id=1)),
    "hf_swin": ("SwinForImageClassification", "SwinConfig", "image", dict(
        image_size=32, patch_size=2, embed_dim=16, depths=[2, 2], num_heads=[2, 4], window_size=4, num_labels=10)),
    "hf_vit": ("ViTForImageClassification", "ViTConfig", "image", IMAGES),
    "hf_wav2vec2": ("Wav2Vec2ForSequenceClassification", "Wav2Vec2Config", "sound", SPEECH),
}



def make(name, batch):
    """The model, its example inputs by name."""
    import torch
    torch.manual_seed(0)
    if name in TIMM:
        import timm
        model_name, side, options = TIMM[name]
        model = timm.create_model(model_name, pretrained=False, num_classes=10, **options)
        return model, {"x": torch.randn(batch, 3, side, side)}
    import transformers
    model_class, config_class, fed, options = TRANSFORMERS[name]
    config = getattr(transformers, config_class)(**options)
    config.use_cache, config.return_dict = False, True
    model = getattr(transformers, model_class)(config)

    class Wrapped(torch.nn.Module):
        def __init__(self, wrapped, names):
            super().__init__()
            self.model, self.names = wrapped, names

        def forward(self, *inputs):
            return self.model(**dict(zip(self.names, inputs))).logits
    tokens = {"input_ids": torch.randint(2, 96, (batch, 12))}
    inputs = {"tokens": tokens, "tokens and mask": dict(tokens, attention_mask=torch.ones(batch, 12, dtype=torch.int64)),
              "image": {"pixel_values": torch.randn(batch, 3, 32, 32)}, "image of 64": {"pixel_values": torch.randn(batch, 3, 64, 64)},
              "sound": {"input_values": torch.randn(batch, 1600)}, "spectrogram": {"input_values": torch.randn(batch, 64, 32)}}[fed]
    return Wrapped(model, list(inputs)), inputs


def export(name, how, batch, path):
    """Runs in a process of its own."""
    warnings.simplefilter("ignore")
    import torch
    torch.set_num_threads(1)
    model, inputs = make(name, batch)
    values = tuple(inputs.values())
    common = dict(input_names=list(inputs), output_names=["logits"])
    if how == "torchscript":
        torch.onnx.export(model.train(), values, path, training=torch.onnx.TrainingMode.TRAINING, do_constant_folding=False, dynamo=False,
                          opset_version=17, dynamic_axes={key: {0: "batch"} for key in [*inputs, "logits"]}, **common)
    else:
        shapes = [{0: "batch"} for _ in inputs]
        if name not in TIMM:
            shapes = [shapes]  # of *inputs
        options = {} if how == "fixed" else dict(dynamic_shapes=tuple(tuple(s) if isinstance(s, list) else s for s in shapes))
        torch.onnx.export(model.train(), values, path, dynamo=True, optimize=False, verbose=False, **common, **options)


def export_quietly(name, how, batch, path, log):
    with open(log, "w") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
        try:
            export(name, how, batch, path)
        except BaseException as error:  # whatever the exporter throws is its answer
            print(f"{type(error).__name__}: {error}", file=file, flush=True)
            os._exit(1)
    os._exit(0)


def exported(name, how, options):
    """The file, or None where the exporter refuses the model."""
    folder = os.path.join(options.work, how)
    os.makedirs(folder, exist_ok=True)
    path, log = os.path.join(folder, name + ".onnx"), os.path.join(folder, name + ".log")
    if os.path.exists(path):
        return path
    if os.path.exists(log):
        return None
    begun = path + ".part"
    process = multiprocessing.get_context("fork").Process(target=export_quietly, args=(name, how, options.example_batch, begun, log))
    process.start()
    process.join(options.time_limit)
    if process.is_alive():
        process.kill()
        process.join()
        with open(log, "a") as file:
            print(f"ended after {options.time_limit} s", file=file)
    if process.exitcode != 0 or not os.path.exists(begun):
        return None
    # The model names its weight file, which lies in the same directory.
    os.rename(begun, path)
    return path


def planned(path, options):
    """Exit code and the first lines of the error."""
    plan = os.path.join(options.work, f"plan{os.getpid()}.json")
    command = [options.plimsoll, "plan", path, "--batch", "4", "--assume", "trainable",
               "--budget", "100%", "--costs", "p100", "--effort", "0", "-q", "-o", plan]
    done = subprocess.run(command, capture_output=True, text=True)
    lines = [line for line in done.stderr.splitlines() if line.strip() and not line.startswith("warning")]
    return done.returncode, [line[:300] for line in lines[:options.errors]]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plimsoll", default="build/bin/plimsoll")
    parser.add_argument("--work", default="coverage")
    parser.add_argument("--exports", default=",".join(EXPORTS))
    parser.add_argument("--models", help="families, separated by commas; all if nothing is said")
    parser.add_argument("--example-batch", type=int, default=2)
    parser.add_argument("--time-limit", type=int, default=300, help="seconds for one export")
    parser.add_argument("--errors", type=int, default=2, help="lines of an error that are shown")
    parser.add_argument("--only-export", action="store_true")
    parser.add_argument("--only-exported", action="store_true", help="plan the files that are in --work, export nothing")
    parser.add_argument("--markdown", metavar="FILE")
    options = parser.parse_args()
    families = options.models.split(",") if options.models else [*TIMM, *TRANSFORMERS]
    exports = options.exports.split(",")
    for unknown in [name for name in families if name not in TIMM and name not in TRANSFORMERS] + [how for how in exports if how not in EXPORTS]:
        parser.error(f"'{unknown}' is neither a family nor an export")
    if not options.only_exported:
        import timm, torch, transformers  # noqa: before the processes part, which need it all
    table, errors = {}, []
    for how in exports:
        for name in families:
            path = os.path.join(options.work, how, name + ".onnx")
            if options.only_exported:
                path = path if os.path.exists(path) else None
            else:
                path = exported(name, how, options)
            if options.only_export:
                print(f"{how:12} {name:18} {'exported' if path else 'not exported'}", flush=True)
                continue
            if not path:
                table[name, how] = "not exported"
                continue
            code, lines = planned(path, options)
            table[name, how] = "planned" if code == 0 else f"exit {code}"
            if code != 0:
                errors.append((name, how, lines))
            print(f"{how:12} {name:18} {table[name, how]}", flush=True)
    if options.only_export:
        return
    tell(table, errors, families, exports, options)


def tell(table, errors, families, exports, options):
    rows = [f"| model | {' | '.join(exports)} |", "|---" * (len(exports) + 1) + "|"]
    for name in families:
        shown = f"{name} ({(TIMM.get(name) or TRANSFORMERS.get(name))[0]})"
        rows.append(f"| {shown} | {' | '.join(table[name, how] for how in exports)} |")
    counts = []
    for how in exports:
        states = [table[name, how] for name in families]
        count = lambda of: sum(state == of for state in states)
        counts.append(f"{how}: {count('planned')} planned of {len(states) - count('not exported')} exported of {len(states)}")
    print("\n".join(["", *rows, "", *counts, ""]))
    for name, how, lines in errors:
        print(f"{name}, {how}: " + "\n    ".join(lines or ["no message"]))
    if options.markdown:
        import importlib.metadata as metadata
        versions = ", ".join(f"{package} {metadata.version(package).split('+')[0]}" for package in ("torch", "timm", "transformers"))
        with open(options.markdown, "w") as file:
            print("# Models that are planned as PyTorch's exporters write them\n", file=file)
            print(f"`tools/bench/coverage.py`, {versions}; small models with random weights, exported for a batch of {options.example_batch}.",
                  file=file)
            print("Its header says what is run, and what the exports are. " + "; ".join(counts) + ".\n", file=file)
            print("\n".join(rows), file=file)
            print("\n## The first error of each refused model\n\n| model | export | error |\n|---|---|---|", file=file)
            for name, how, lines in errors:
                text = " ".join(line.strip() for line in lines).replace("|", "\\|").replace(options.work.rstrip("/") + "/", "")
                print(f"| {name} | {how} | {text} |", file=file)


if __name__ == "__main__":
    main()
