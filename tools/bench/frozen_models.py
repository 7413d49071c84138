#!/usr/bin/env python3
"""Freezes models of coverage.py for the tests, which then need no PyTorch: tests/exported/.

  NAME.dynamo.onnx.gz, NAME.torchscript.onnx.gz   as PyTorch's exporters write the model in training mode, for a dynamic
                                                  batch
  NAME.one.onnx.gz                                as TorchScript's exporter writes it for an example of one sample,
                                                  without dropout
  NAME.plimsoll.onnx.gz                           as plimsoll.export writes it, for models whose step is frozen, too
  models.json                                     flags of `plimsoll plan`; for one step in PyTorch the loss, and for
                                                  each gradient its norm and its products with random directions

The files do not hold large weights: tests/exported/fill.py draws them again, by name. They do not hold the exporter's
stack traces either.

Needs the packages of coverage.py. A model's files are not rewritten if nothing changes.

usage: frozen_models.py [--models vit,hf_llama] [--out tests/exported]
"""
import argparse
import copy
import gzip
import json
import multiprocessing
import os
import sys
import tempfile
import warnings

HERE = os.path.dirname(os.path.abspath(__file__))
# Else transformers.py of this folder would hide the package.
sys.path = [entry for entry in sys.path if os.path.abspath(entry) != HERE]
ROOT = os.path.join(HERE, "..", "..")
sys.path += [HERE, os.path.join(ROOT, "python"), os.path.join(ROOT, "tests", "exported")]
import coverage
import fill
import one_step

# About a dozen of each kind; * marks those whose step is frozen.
FROZEN = """
    resnet* mobilenetv3 vit* swin_transformer_v2 convnextv2* cait levit repvit efficientvit_mit mobilevit ghostnet
    regnet* xcit
    hf_bert_mask* hf_roberta hf_deberta_v2 hf_modernbert hf_llama* hf_gpt2 hf_mixtral hf_t5* hf_bart hf_whisper
    hf_segformer* hf_wav2vec2_ctc hf_patchtst
    hf_clip_text hf_bit*
    segment_unet segment_unet_3d* diffusion_ddpm_scratch* diffusion_autoencoder_kl video_r3d_18 audio_conv_tasnet*
    audio_conformer
    tabular_ft_transformer tabular_dlrm series_lstm_attention gan_stylegan_like metric_clip_loss* points_pointnet
    other_experts other_ppo
    other_spatial_transformer* other_optical_flow other_indexed*
    written_generalized_mean* written_learned_clipping* written_variational* written_supervised_contrastive
    written_ordinal written_straight_through_quantizer
""".split()
# For an example of one sample; * marks those of which a step is frozen, which is one of several samples.
FROZEN_FOR_ONE = "mobilevit mvitv2 hf_deberta_v2* hf_clip_text* hf_wavlm* other_perceiver*".split()
BATCH = 4


def strip(path):
    """Compresses the file, without stack traces and large weights."""
    import onnx
    proto = onnx.load(path)
    for part in [
            *proto.graph.node, *proto.graph.value_info, *proto.graph.initializer, *proto.graph.input,
            *proto.graph.output, proto.graph, *(node for function in proto.functions for node in function.node),
            *proto.functions
    ]:
        kept = [p for p in getattr(part, "metadata_props", []) if not p.key.endswith(("stack_trace", "fx_node"))]
        if hasattr(part, "metadata_props"):
            del part.metadata_props[:]
            part.metadata_props.extend(kept)
        if hasattr(part, "doc_string"):
            part.ClearField("doc_string")
    fill.empty(proto)
    return gzip.compress(proto.SerializeToString(deterministic=True), 9, mtime=0)


def export_for_one(name, path):
    import torch
    model, inputs = coverage.make(name, 1)
    torch.onnx.export(one_step.without_dropout(model.train()), tuple(inputs.values()), path, dynamo=False,
                      training=torch.onnx.TrainingMode.TRAINING, do_constant_folding=False,
                      input_names=list(inputs), output_names=["output"])


def freeze(name, with_step, out, answer):
    """Runs in a separate process."""
    warnings.simplefilter("ignore")
    import torch
    found = {"flags": coverage.KINDS[coverage.KIND_OF[name]].FLAGS.get(name, []), "exports": []}
    with tempfile.TemporaryDirectory() as work:
        whole = name in [other.rstrip("*") for other in FROZEN]
        one = name in [other.rstrip("*") for other in FROZEN_FOR_ONE]
        for how in ("dynamo", "torchscript") * whole + ("one",) * one:
            path = os.path.join(work, how + ".onnx")
            try:
                if how == "one":
                    export_for_one(name, path)
                else:
                    coverage.export(name, how, 2, path)
            except BaseException as error:
                print(f"{name} {how}: not exported: {str(error)[:100]}", file=sys.stderr)
                continue
            write(os.path.join(out, f"{name}.{how}.onnx.gz"), strip(path))
            found["exports"].append(how)
        if with_step:
            found["step"] = step(name, work, out)
    with open(answer, "w") as file:
        json.dump(found, file)
    os._exit(0)


def for_step(name, model, inputs, work):
    """The exporter and the file of a model whose step is frozen."""
    import plimsoll
    one = os.path.join(work, "one.onnx")
    if name + "*" in FROZEN_FOR_ONE:
        return "torchscript", one
    path = os.path.join(work, "plimsoll.onnx")
    for exporter in ("dynamo", "torchscript"):
        try:
            plimsoll.export(model, tuple(inputs.values()), path, exporter=exporter, input_names=list(inputs),
                            output_names=["output"], allow_unused=True)
            return exporter, path
        except Exception:
            if exporter == "torchscript":
                raise


def step(name, work, out):
    """Loss and gradients of one step in double precision, with weights and samples drawn by fill.py."""
    import onnx
    import torch
    model, inputs = coverage.make(name, BATCH)
    model = one_step.without_dropout(model.train())
    exporter, path = for_step(name, model, inputs, work)
    file = os.path.basename(path)[:-len(".onnx")]
    packed = strip(path)
    write(os.path.join(out, f"{name}.{file}.onnx.gz"), packed)
    proto = onnx.ModelProto.FromString(gzip.decompress(packed))
    state = model.state_dict(keep_vars=True)
    with torch.no_grad():
        for initializer in fill.fill(proto):
            if initializer.name in state:
                state[initializer.name].copy_(torch.from_numpy(onnx.numpy_helper.to_array(initializer).copy()))
    specs = {key: fill.spec_of(value.numpy()) for key, value in inputs.items()}
    samples = {key: torch.from_numpy(fill.draw(key, spec)) for key, spec in specs.items()}
    model = model.double()
    values = tuple(value.double() if value.is_floating_point() else value for value in samples.values())
    with torch.no_grad():  # on a copy, because statistics change
        output = copy.deepcopy(model)(*values)
    labels, loss, flags = one_step.loss_of(name, output)
    frozen = {"file": file, "exporter": exporter, "batch": BATCH, "inputs": specs, "names": list(inputs)}
    if labels is not None:
        labels = labels.float() if labels.is_floating_point() else labels
        frozen["labels"] = fill.spec_of(labels.numpy(), classes=int(output.shape[1 if output.dim() != 3 else 2]))
        labels = torch.from_numpy(fill.draw("labels", frozen["labels"]))
        labels = labels.double() if labels.is_floating_point() else labels.long()
    output = model(*values)
    value = output if loss is None else loss(output, labels)
    value.backward()
    frozen["loss"] = float(value)
    frozen["gradients"] = {
        key: fill.digest(key, parameter.grad.numpy()) for key, parameter in model.named_parameters()
        if parameter.grad is not None
    }
    return frozen


def write(path, data):
    if os.path.exists(path):
        with open(path, "rb") as file:
            if file.read() == data:
                return
    with open(path, "wb") as file:
        file.write(data)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models")
    parser.add_argument("--out", default=os.path.join(ROOT, "tests", "exported"))
    options = parser.parse_args()
    # Before the processes fork, which need all of them.
    import diffusers, segmentation_models_pytorch, timm, torch, transformers  # noqa
    torch.set_num_threads(2)
    table = os.path.join(options.out, "models.json")
    models = {}
    if os.path.exists(table):
        with open(table) as file:
            models = json.load(file)
    steps = {}
    for name in FROZEN + FROZEN_FOR_ONE:
        steps[name.rstrip("*")] = steps.get(name.rstrip("*"), False) or name.endswith("*")
    for name in options.models.split(",") if options.models else steps:
        with tempfile.NamedTemporaryFile() as answer:
            process = multiprocessing.get_context("fork").Process(
                target=freeze, args=(name, steps.get(name, False), options.out, answer.name))
            process.start()
            process.join()
            with open(answer.name) as file:
                text = file.read()
        if not text:
            print(f"{name}: not frozen", file=sys.stderr)
            continue
        models[name] = json.loads(text)
        print(name, models[name]["exports"], flush=True)
        with open(table, "w") as file:
            lines = ",\n".join(
                f"{json.dumps(name)}: {json.dumps(models[name], separators=(',', ':'))}" for name in sorted(models))
            file.write("{\n" + lines + "\n}\n")


if __name__ == "__main__":
    main()
