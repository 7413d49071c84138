#!/usr/bin/env python3
"""Compares one training step of many models in PyTorch and in a trainer: the loss, every gradient, every running
statistic and every frozen tensor.

The models are those of coverage.py, without dropout, because the two draw different masks. plimsoll.export writes each
model. It is compiled for a batch of 4 in 70 % of its memory, built, and compared by plimsoll.check (docs/python.md
gives the criterion).

Needs the packages of coverage.py. --markdown writes the page docs/benchmarks/one-step.md.

usage: one_step.py [--plimsoll build/bin/plimsoll] [--runtime build] [--work DIR] [--models vit,hf_llama] [--markdown
FILE]
"""
import argparse
import json
import multiprocessing
import os
import shutil
import subprocess
import sys
import warnings

HERE = os.path.dirname(os.path.abspath(__file__))
# Else transformers.py of this folder would hide the package.
sys.path = [entry for entry in sys.path if os.path.abspath(entry) != HERE]
sys.path += [HERE, os.path.join(HERE, "..", "..", "python")]
import coverage

BATCH = 4
# Of millions of activations a few are so close to zero that rounding decides whether a ReLU passes them. Then gradients
# differ by a per cent. Other samples have other such activations; a wrong gradient is wrong with all samples.
DRAWS = 3
# By kind, in the order of the page. Some models are small to save time.
DEFAULT = """
    resnet vgg densenet efficientnet mobilenetv3 regnet convnext convnextv2 vit deit cait swin_transformer_v2 pit
    mobilevit levit
    ghostnet hrnet sknet repvit starnet mambaout
    hf_bert_mask hf_bert_mlm hf_roberta hf_distilbert hf_deberta_v2 hf_modernbert hf_gpt2 hf_llama hf_gemma2
    hf_qwen3 hf_bloom hf_opt
    hf_bart hf_t5 hf_whisper hf_vit hf_segformer hf_dinov2 hf_wav2vec2 hf_patchtst
    segment_unet segment_fpn segment_deeplabv3plus segment_unet_3d diffusion_unet2d diffusion_dit
    diffusion_autoencoder_kl
    diffusion_ddpm_scratch video_r3d_18 audio_conv_tasnet audio_conformer tabular_ft_transformer tabular_dlrm
    tabular_deepfm
    series_lstm_attention series_dlinear_revin gan_dcgan_generator gan_spectral_discriminator
    gan_cyclegan_generator metric_siamese
    metric_clip_loss metric_triplet metric_arcface points_pointnet points_gcn_dense points_nerf other_yolo_head
    other_ppo other_experts
""".split()


def without_dropout(model):
    """Sets every dropout probability to 0, including those that transformers reads from a model's configuration."""
    import torch
    for module in model.modules():
        if isinstance(module, torch.nn.modules.dropout._DropoutNd) or type(module).__name__ == "StochasticDepth":
            module.p = 0.0
        for name, value in list(vars(module).items()):
            if isinstance(value, float) and ("drop" in name):
                setattr(module, name, 0.0)
            elif name == "config":
                for key, item in list(vars(value).items()):
                    if isinstance(item, float) and ("drop" in key):
                        setattr(value, key, 0.0)
    return model


def loss_of(name, output):
    """The labels of an output and its loss in PyTorch, the same as the model's flags specify for the compiler."""
    import torch
    from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy, mse_loss
    flags = coverage.KINDS[coverage.KIND_OF[name]].FLAGS.get(name, [])
    said = dict(zip(flags[::2], flags[1::2]))
    loss = said.get("--loss", "softmax-cross-entropy")
    if loss == "output":
        return None, None, flags
    if loss == "mse":
        return torch.randn_like(output), mse_loss, flags
    if loss == "bce-logits":
        return torch.rand_like(output), binary_cross_entropy_with_logits, flags
    axis = int(said.get("--class-axis", -1 if output.dim() == 3 else 1)) % output.dim()
    labels = torch.randint(0, output.shape[axis], [size for i, size in enumerate(output.shape) if i != axis])
    return labels, lambda scores, wanted: cross_entropy(scores.movedim(axis, 1), wanted), flags


def run(command, timeout):
    done = subprocess.run(command, capture_output=True, text=True, timeout=timeout)
    if done.returncode != 0:
        raise RuntimeError(f"exit {done.returncode}: {(done.stderr or done.stdout).strip()[:300]}")


def compare(name, options, answer):
    """Runs in a separate process, and writes its result as JSON."""
    warnings.simplefilter("ignore")
    import copy
    import torch
    import plimsoll
    torch.set_num_threads(2)
    found = {"name": name}
    work = os.path.join(options.work, name)
    os.makedirs(work, exist_ok=True)
    try:
        model, inputs = coverage.make(name, BATCH)
        model = without_dropout(model.train())
        values = tuple(inputs.values())
        model_file, trainer = os.path.join(work, "net.onnx"), os.path.join(work, "trainer")
        for exporter in ("dynamo", "torchscript"):
            try:
                plimsoll.export(model, values, model_file, exporter=exporter, input_names=list(inputs),
                                output_names=["output"], allow_unused=True)
                found["exporter"] = exporter
                break
            except Exception as error:
                found["error"] = f"{type(error).__name__}: {str(error)[:200]}"
        if "exporter" not in found:
            raise RuntimeError(f"not exported: {found['error']}")
        with torch.no_grad():
            output = copy.deepcopy(model)(*values)
        labels, loss, flags = loss_of(name, output)
        shutil.rmtree(trainer, ignore_errors=True)  # it may be from another compiler
        for budget in ("70%", "100%"):  # the smallest models need all of their memory
            try:
                run([
                    options.plimsoll, "compile", model_file, "--batch",
                    str(BATCH), "--budget", budget, "--costs", "modelled", "--optimizer", "sgd", "-q", *flags, "-o",
                    trainer
                ], 600)
                break
            except RuntimeError as error:
                if budget == "100%" or not str(error).startswith("exit 6"):
                    raise
        run([
            "cmake", "-S", trainer, "-B", f"{trainer}/build", "-G", "Ninja",
            f"-DPLIMSOLL_RUNTIME={os.path.abspath(options.runtime)}"
        ], 120)
        run(["cmake", "--build", f"{trainer}/build"], 900)
        for draw in range(DRAWS):
            rows = plimsoll.check(model, values, labels, trainer, loss=loss, report=False)
            if all(row.is_good(1e-4) for row in rows):
                break
            torch.manual_seed(draw + 1)
            values = tuple(torch.randn_like(value) if value.is_floating_point() else value for value in values)
        gradients = [row for row in rows if row.kind == "gradient"]
        worst = max(gradients, key=lambda row: row.relative)
        found.update(
            draws=draw + 1, gradients=len(gradients), worst=worst.relative, worst_name=worst.name,
            pytorch=max(row.pytorch for row in gradients), loss=rows_of(rows, "loss"),
            statistics=rows_of(rows, "statistic"), unmoved=sum(row.kind == "unmoved" for row in rows),
            moved=sum(row.kind == "unmoved" and row.relative != 0 for row in rows),
            good=all(row.is_good(1e-4) for row in rows), bad=[
                f"{row.kind} {row.name} {row.relative:.1e} (PyTorch {row.pytorch:.1e})" for row in rows
                if not row.is_good(1e-4)
            ][:5])
        found.pop("error", None)
    except BaseException as error:
        found["error"] = f"{type(error).__name__}: {str(error)[:400]}"
    with open(answer, "w") as file:
        json.dump(found, file)
    os._exit(0)


def rows_of(rows, kind):
    return max((row.relative for row in rows if row.kind == kind), default=None)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plimsoll", default="build/bin/plimsoll")
    parser.add_argument("--runtime", default="build")
    parser.add_argument("--work", default="one-step")
    parser.add_argument("--models")
    parser.add_argument("--again", action="store_true", help="also models that have a result in --work")
    parser.add_argument("--markdown", metavar="FILE")
    options = parser.parse_args()
    os.makedirs(options.work, exist_ok=True)
    # Before the processes fork, which need all of them.
    import diffusers, segmentation_models_pytorch, timm, torch, transformers  # noqa
    results = []
    for name in options.models.split(",") if options.models else DEFAULT:
        answer = os.path.join(options.work, name + ".json")
        if options.again or not os.path.exists(answer):
            if os.path.exists(answer):
                os.remove(answer)
            process = multiprocessing.get_context("fork").Process(target=compare, args=(name, options, answer))
            process.start()
            process.join()
        found = {"name": name, "error": "ended without an answer"}
        if os.path.exists(answer):
            with open(answer) as file:
                found = json.load(file)
        results.append(found)
        print(json.dumps(found), flush=True)
    if options.markdown:
        write_page(results, options)


def figure(number):
    return "" if number is None else f"{number:.1e}"


def is_strictly_good(found):
    """Within 1e-4 or PyTorch's own distance, without the factor of ten that `check` allows."""
    return found["good"] and found["worst"] <= max(1e-4, found["pytorch"]) and found["loss"] <= 1e-6


def write_page(results, options):
    import importlib.metadata as metadata
    packages = ("torch", "timm", "transformers", "diffusers", "segmentation-models-pytorch")
    versions = ", ".join(f"{package} {metadata.version(package).split('+')[0]}" for package in packages)
    compared = [found for found in results if "error" not in found]
    with open(options.markdown, "w") as file:
        text = (
            f"`tools/bench/one_step.py`, {versions}. `plimsoll.export` writes each model. It is compiled for a batch "
            f"of {BATCH} in 70 % of "
            "its memory (or in all of it, if that is not enough), and trained for one step from PyTorch's weights on "
            "the same samples, "
            "without dropout. A distance is relative to the norm of PyTorch's tensor. *Largest distance* is that of "
            "the worst gradient. "
            "*PyTorch's own* is the largest distance of its single precision from its double precision. A model passes "
            "if the loss agrees "
            "to six digits, if every gradient and statistic is within 1e-4 or ten times PyTorch's own distance, and if "
            "no frozen tensor or "
            "buffer has changed. If rounding decides a ReLU, other samples are drawn, at most twice.")
        strictly = (
            f"Of {sum(map(is_strictly_good, compared))}, every gradient is within 1e-4 or PyTorch's own distance "
            "itself, and the "
            "loss agrees to 1e-6. Large distances, such as those of densenet121 and skresnet18, come from single "
            "precision: batch normalization over few samples amplifies rounding, and PyTorch's single precision is as "
            "far from its double precision.")
        print(f"""# One step compared with PyTorch

{coverage.filled(text)}

{len(compared)} models compared, {sum(found["good"] for found in compared)} pass.

{coverage.filled(strictly)}

| model | exporter | gradients | largest distance | PyTorch's own | loss | statistics | frozen and buffers | |
|---|---|--:|--:|--:|--:|--:|--:|---|""", file=file)
        for found in compared:
            title = coverage.KINDS[coverage.KIND_OF[found["name"]]].title(found["name"])
            print(
                f"| {title} | {found['exporter']} | {found['gradients']} | {figure(found['worst'])} | "
                f"{figure(found['pytorch'])} | "
                f"{figure(found['loss'])} | {figure(found['statistics'])} | {found['unmoved']} | "
                f"{'' if found['good'] else '; '.join(found['bad'])} |",
                file=file)
        failed = [found for found in results if "error" in found]
        if failed:
            print("\n## Not compared\n\n| model | reason |\n|---|---|", file=file)
            for found in failed:
                print(f"| {found['name']} | {found['error'].splitlines()[0].replace('|', ' ')} |", file=file)


if __name__ == "__main__":
    main()
