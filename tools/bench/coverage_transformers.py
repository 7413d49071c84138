"""Small models of Hugging Face's transformers, with random weights and with the heads for their training: encoders,
decoders, encoder-decoders, vision and audio."""

TOKENS = dict(vocab_size=96, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64)
# The same options under the names of GPT-2's and of BART's configurations.
GPT = dict(vocab_size=96, n_embd=32, n_layer=2, n_head=4, n_positions=64)
BART = dict(vocab_size=96, d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4,
            decoder_attention_heads=4, encoder_ffn_dim=64, decoder_ffn_dim=64, max_position_embeddings=64,
            pad_token_id=1)
T5 = dict(vocab_size=96, d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4)
LLAMA = dict(**TOKENS, num_key_value_heads=2, max_position_embeddings=64, pad_token_id=0)
MOE = dict(LLAMA, num_experts=4, num_experts_per_tok=2, moe_intermediate_size=32, shared_expert_intermediate_size=32)
IMAGES = dict(image_size=32, patch_size=8, hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
              intermediate_size=64, num_labels=10)
STAGES = dict(hidden_sizes=[8, 16, 32, 64], depths=[1, 1, 1, 1], num_labels=10)
SWIN = dict(image_size=32, patch_size=2, embed_dim=16, depths=[2, 2], num_heads=[2, 4], window_size=4, num_labels=10)
SPEECH = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64, conv_dim=(16, 16),
              conv_stride=(5, 4), conv_kernel=(10, 8), num_feat_extract_layers=2, num_conv_pos_embeddings=8,
              num_conv_pos_embedding_groups=4, apply_spec_augment=False, num_labels=10, classifier_proj_size=16)
CLIP_TEXT = dict(TOKENS, max_position_embeddings=64, eos_token_id=2)

# Family: class of the model, class of its configuration, kind of its inputs (for fed()), options that make the model
# small.
TRANSFORMERS = {
    # Encoders.
    "hf_albert": ("AlbertForSequenceClassification", "AlbertConfig", "tokens", dict(TOKENS, embedding_size=16)),
    "hf_bert": ("BertForSequenceClassification", "BertConfig", "tokens", TOKENS),
    "hf_bert_mask": ("BertForSequenceClassification", "BertConfig", "masked", TOKENS),
    "hf_bert_mlm": ("BertForMaskedLM", "BertConfig", "masked", TOKENS),
    "hf_bert_ner": ("BertForTokenClassification", "BertConfig", "masked", TOKENS),
    "hf_camembert": ("CamembertForSequenceClassification", "CamembertConfig", "masked", dict(TOKENS, pad_token_id=1)),
    "hf_convbert": ("ConvBertForSequenceClassification", "ConvBertConfig", "masked", dict(TOKENS, embedding_size=32)),
    "hf_data2vec_text": ("Data2VecTextForSequenceClassification", "Data2VecTextConfig", "masked",
                         dict(TOKENS, pad_token_id=1)),
    "hf_deberta": ("DebertaForSequenceClassification", "DebertaConfig", "masked",
                   dict(TOKENS, relative_attention=True, max_relative_positions=16, pos_att_type=["c2p", "p2c"])),
    "hf_deberta_v2": ("DebertaV2ForSequenceClassification", "DebertaV2Config", "masked",
                      dict(TOKENS, relative_attention=True, max_relative_positions=16, pos_att_type=["c2p", "p2c"])),
    "hf_distilbert": ("DistilBertForSequenceClassification", "DistilBertConfig", "masked",
                      dict(vocab_size=96, dim=32, n_layers=2, n_heads=4, hidden_dim=64)),
    "hf_electra": ("ElectraForSequenceClassification", "ElectraConfig", "masked", dict(TOKENS, embedding_size=32)),
    "hf_ernie": ("ErnieForSequenceClassification", "ErnieConfig", "masked", TOKENS),
    "hf_layoutlm": ("LayoutLMForTokenClassification", "LayoutLMConfig", "masked", TOKENS),
    "hf_mobilebert": ("MobileBertForSequenceClassification", "MobileBertConfig", "masked",
                      dict(TOKENS, embedding_size=32, intra_bottleneck_size=32)),
    "hf_modernbert": ("ModernBertForSequenceClassification", "ModernBertConfig", "masked",
                      dict(TOKENS, pad_token_id=0, max_position_embeddings=64, local_attention=8,
                           attn_implementation="sdpa")),
    "hf_mpnet": ("MPNetForSequenceClassification", "MPNetConfig", "masked", dict(TOKENS, pad_token_id=1)),
    "hf_nystromformer": ("NystromformerForSequenceClassification", "NystromformerConfig", "masked",
                         dict(TOKENS, segment_means_seq_len=12, num_landmarks=12)),
    "hf_rembert": ("RemBertForSequenceClassification", "RemBertConfig", "masked",
                   dict(TOKENS, input_embedding_size=16, output_embedding_size=16)),
    "hf_roberta": ("RobertaForSequenceClassification", "RobertaConfig", "masked", dict(TOKENS, pad_token_id=1)),
    "hf_roformer": ("RoFormerForSequenceClassification", "RoFormerConfig", "masked", dict(TOKENS, embedding_size=32)),
    "hf_splinter": ("SplinterForQuestionAnswering", "SplinterConfig", "masked", TOKENS),
    "hf_squeezebert": ("SqueezeBertForSequenceClassification", "SqueezeBertConfig", "masked",
                       dict(TOKENS, embedding_size=32)),
    "hf_xlm_roberta": ("XLMRobertaForSequenceClassification", "XLMRobertaConfig", "masked",
                       dict(TOKENS, pad_token_id=1)),
    # Decoders.
    "hf_biogpt": ("BioGptForCausalLM", "BioGptConfig", "masked", dict(TOKENS, max_position_embeddings=64)),
    "hf_bloom": ("BloomForCausalLM", "BloomConfig", "masked", dict(vocab_size=96, hidden_size=32, n_layer=2, n_head=4)),
    "hf_cohere": ("CohereForCausalLM", "CohereConfig", "masked", LLAMA),
    "hf_codegen": ("CodeGenForCausalLM", "CodeGenConfig", "masked", dict(GPT, rotary_dim=4)),
    "hf_falcon": ("FalconForCausalLM", "FalconConfig", "masked",
                  dict(vocab_size=96, hidden_size=32, num_hidden_layers=2, num_attention_heads=4)),
    "hf_gemma": ("GemmaForCausalLM", "GemmaConfig", "masked", dict(LLAMA, head_dim=8)),
    "hf_gemma2": ("Gemma2ForCausalLM", "Gemma2Config", "masked", dict(LLAMA, head_dim=8, sliding_window=8)),
    "hf_gemma3": ("Gemma3ForCausalLM", "Gemma3TextConfig", "masked", dict(LLAMA, head_dim=8, sliding_window=8)),
    "hf_glm": ("GlmForCausalLM", "GlmConfig", "masked", dict(LLAMA, head_dim=8)),
    "hf_gpt2": ("GPT2LMHeadModel", "GPT2Config", "masked", GPT),
    "hf_gpt_bigcode": ("GPTBigCodeForCausalLM", "GPTBigCodeConfig", "masked", GPT),
    "hf_gpt_neo": ("GPTNeoForCausalLM", "GPTNeoConfig", "masked",
                   dict(vocab_size=96, hidden_size=32, num_layers=2, num_heads=4,
                        attention_types=[[["global", "local"], 1]], window_size=8, max_position_embeddings=64)),
    "hf_gpt_neox": ("GPTNeoXForCausalLM", "GPTNeoXConfig", "masked", TOKENS),
    "hf_gptj": ("GPTJForCausalLM", "GPTJConfig", "masked", dict(GPT, rotary_dim=4)),
    "hf_granite": ("GraniteForCausalLM", "GraniteConfig", "masked", LLAMA),
    "hf_llama": ("LlamaForCausalLM", "LlamaConfig", "masked", LLAMA),
    "hf_mamba": ("MambaForCausalLM", "MambaConfig", "tokens",
                 dict(vocab_size=96, hidden_size=32, num_hidden_layers=2, state_size=4)),
    "hf_mistral": ("MistralForCausalLM", "MistralConfig", "masked", dict(LLAMA, head_dim=8)),
    "hf_mixtral": ("MixtralForCausalLM", "MixtralConfig", "masked",
                   dict(LLAMA, num_local_experts=4, num_experts_per_tok=2)),
    "hf_mpt": ("MptForCausalLM", "MptConfig", "masked",
               dict(vocab_size=96, d_model=32, n_layers=2, n_heads=4, max_seq_len=64)),
    "hf_nemotron": ("NemotronForCausalLM", "NemotronConfig", "masked", dict(LLAMA, head_dim=8)),
    "hf_olmo": ("OlmoForCausalLM", "OlmoConfig", "masked", LLAMA),
    "hf_olmo2": ("Olmo2ForCausalLM", "Olmo2Config", "masked", LLAMA),
    "hf_opt": ("OPTForCausalLM", "OPTConfig", "masked",
               dict(vocab_size=96, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, ffn_dim=64,
                    max_position_embeddings=64, word_embed_proj_dim=32)),
    "hf_persimmon": ("PersimmonForCausalLM", "PersimmonConfig", "masked", dict(LLAMA, num_key_value_heads=4)),
    "hf_phi": ("PhiForCausalLM", "PhiConfig", "masked", dict(LLAMA, num_key_value_heads=4)),
    "hf_phi3": ("Phi3ForCausalLM", "Phi3Config", "masked", dict(LLAMA)),
    "hf_qwen2": ("Qwen2ForCausalLM", "Qwen2Config", "masked", LLAMA),
    "hf_qwen2_moe": ("Qwen2MoeForCausalLM", "Qwen2MoeConfig", "masked", MOE),
    "hf_qwen3": ("Qwen3ForCausalLM", "Qwen3Config", "masked", dict(LLAMA, head_dim=8)),
    "hf_smollm3": ("SmolLM3ForCausalLM", "SmolLM3Config", "masked", LLAMA),
    "hf_stablelm": ("StableLmForCausalLM", "StableLmConfig", "masked", LLAMA),
    "hf_starcoder2": ("Starcoder2ForCausalLM", "Starcoder2Config", "masked", LLAMA),
    "hf_xglm": ("XGLMForCausalLM", "XGLMConfig", "masked",
                dict(vocab_size=96, d_model=32, num_layers=2, attention_heads=4, ffn_dim=64, max_position_embeddings=64,
                     pad_token_id=1)),
    # Encoder-decoders.
    "hf_bart": ("BartForConditionalGeneration", "BartConfig", "two sequences", BART),
    "hf_blenderbot": ("BlenderbotForConditionalGeneration", "BlenderbotConfig", "two sequences", BART),
    "hf_m2m100": ("M2M100ForConditionalGeneration", "M2M100Config", "two sequences", BART),
    "hf_marian": ("MarianMTModel", "MarianConfig", "two sequences", dict(BART, decoder_start_token_id=1)),
    "hf_mbart": ("MBartForConditionalGeneration", "MBartConfig", "two sequences", BART),
    "hf_mt5": ("MT5ForConditionalGeneration", "MT5Config", "two sequences", T5),
    "hf_pegasus": ("PegasusForConditionalGeneration", "PegasusConfig", "two sequences", BART),
    "hf_speech2text": ("Speech2TextForConditionalGeneration", "Speech2TextConfig", "speech and sequence",
                       dict(BART, input_feat_per_channel=16, max_source_positions=64, max_target_positions=64,
                            conv_channels=32)),
    "hf_t5": ("T5ForConditionalGeneration", "T5Config", "two sequences", T5),
    "hf_whisper": ("WhisperForConditionalGeneration", "WhisperConfig", "log-mel and sequence",
                   dict({key: value for key, value in BART.items() if key != "max_position_embeddings"},
                        num_mel_bins=16, max_source_positions=32, max_target_positions=64, decoder_start_token_id=1,
                        eos_token_id=2, bos_token_id=3)),
    # Vision.
    "hf_beit": ("BeitForImageClassification", "BeitConfig", "image", IMAGES),
    "hf_bit": ("BitForImageClassification", "BitConfig", "image",
               dict(embedding_size=8, **STAGES, layer_type="preactivation", num_groups=2)),
    "hf_clip_text": ("CLIPTextModelWithProjection", "CLIPTextConfig", "masked", dict(CLIP_TEXT, projection_dim=16)),
    "hf_clip_vision": ("CLIPVisionModelWithProjection", "CLIPVisionConfig", "image",
                       dict({key: value for key, value in IMAGES.items() if key != "num_labels"}, projection_dim=16)),
    "hf_convnext": ("ConvNextForImageClassification", "ConvNextConfig", "image", STAGES),
    "hf_convnextv2": ("ConvNextV2ForImageClassification", "ConvNextV2Config", "image", STAGES),
    "hf_cvt": ("CvtForImageClassification", "CvtConfig", "image",
               dict(embed_dim=[16, 32, 32], num_heads=[1, 2, 2], depth=[1, 2, 3], num_labels=10)),
    "hf_data2vec_vision": ("Data2VecVisionForImageClassification", "Data2VecVisionConfig", "image", IMAGES),
    "hf_deit": ("DeiTForImageClassification", "DeiTConfig", "image", IMAGES),
    "hf_dinov2": ("Dinov2ForImageClassification", "Dinov2Config", "image", IMAGES),
    "hf_dpt": ("DPTForSemanticSegmentation", "DPTConfig", "image",
               dict(dict(IMAGES, num_hidden_layers=4), backbone_out_indices=[0, 1, 2, 3],
                    neck_hidden_sizes=[8, 16, 32, 32], fusion_hidden_size=16, use_auxiliary_head=False,
                    is_hybrid=False)),
    "hf_efficientnet": ("EfficientNetForImageClassification", "EfficientNetConfig", "image of 64",
                        dict(width_coefficient=0.25, depth_coefficient=0.3, image_size=64, num_labels=10,
                             hidden_dim=320)),
    "hf_focalnet": ("FocalNetForImageClassification", "FocalNetConfig", "image",
                    dict(image_size=32, embed_dim=16, depths=[1, 1], focal_levels=[2, 2], focal_windows=[3, 3],
                         num_labels=10)),
    "hf_levit": ("LevitForImageClassification", "LevitConfig", "image of 64",
                 dict(image_size=64, hidden_sizes=[16, 32, 48], num_attention_heads=[2, 2, 2], depths=[1, 1, 1],
                      key_dim=[8, 8, 8], num_labels=10)),
    "hf_mobilenet_v2": ("MobileNetV2ForImageClassification", "MobileNetV2Config", "image of 64",
                        dict(image_size=64, depth_multiplier=0.35, num_labels=10)),
    "hf_mobilevit": ("MobileViTForImageClassification", "MobileViTConfig", "image of 64",
                     dict(image_size=64, hidden_sizes=[16, 24, 32], neck_hidden_sizes=[8, 8, 16, 16, 24, 32, 64],
                          num_labels=10)),
    "hf_poolformer": ("PoolFormerForImageClassification", "PoolFormerConfig", "image of 64", STAGES),
    "hf_pvt": ("PvtForImageClassification", "PvtConfig", "image of 64",
               dict(image_size=64, hidden_sizes=[8, 16, 32, 64], depths=[1, 1, 1, 1], num_attention_heads=[1, 2, 4, 8],
                    num_labels=10)),
    "hf_regnet": ("RegNetForImageClassification", "RegNetConfig", "image",
                  dict(embedding_size=8, groups_width=8, **STAGES)),
    "hf_resnet": ("ResNetForImageClassification", "ResNetConfig", "image", dict(embedding_size=8, **STAGES)),
    "hf_segformer": ("SegformerForSemanticSegmentation", "SegformerConfig", "image of 64",
                     dict(hidden_sizes=[8, 16, 32, 64], depths=[1, 1, 1, 1], num_attention_heads=[1, 2, 4, 8],
                          decoder_hidden_size=16, num_labels=10)),
    "hf_siglip": ("SiglipForImageClassification", "SiglipConfig", "image",
                  dict(vision_config=IMAGES, text_config=TOKENS, num_labels=10)),
    "hf_swin": ("SwinForImageClassification", "SwinConfig", "image", SWIN),
    "hf_swinv2": ("Swinv2ForImageClassification", "Swinv2Config", "image", SWIN),
    "hf_vit": ("ViTForImageClassification", "ViTConfig", "image", IMAGES),
    "hf_vit_msn": ("ViTMSNForImageClassification", "ViTMSNConfig", "image", IMAGES),
    "hf_yolos": ("YolosForObjectDetection", "YolosConfig", "image",
                 dict(IMAGES, image_size=[32, 32], num_detection_tokens=5, use_mid_position_embeddings=False)),
    # Audio and series.
    "hf_ast": ("ASTForAudioClassification", "ASTConfig", "spectrogram",
               dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64, num_mel_bins=32,
                    max_length=64, num_labels=10)),
    "hf_data2vec_audio": ("Data2VecAudioForSequenceClassification", "Data2VecAudioConfig", "sound",
                          dict(SPEECH, conv_pos_kernel_size=5, num_conv_pos_embeddings=2)),
    "hf_hubert": ("HubertForSequenceClassification", "HubertConfig", "sound", SPEECH),
    "hf_patchtst": ("PatchTSTForPrediction", "PatchTSTConfig", "series",
                    dict(num_input_channels=4, context_length=32, patch_length=8, patch_stride=8, d_model=32,
                         num_hidden_layers=2, num_attention_heads=4, ffn_dim=64, prediction_length=8, loss="mse")),
    "hf_sew": ("SEWForSequenceClassification", "SEWConfig", "sound", dict(SPEECH, squeeze_factor=2)),
    "hf_unispeech": ("UniSpeechForSequenceClassification", "UniSpeechConfig", "sound", SPEECH),
    "hf_wav2vec2": ("Wav2Vec2ForSequenceClassification", "Wav2Vec2Config", "sound", SPEECH),
    "hf_wav2vec2_ctc": ("Wav2Vec2ForCTC", "Wav2Vec2Config", "sound", dict(SPEECH, vocab_size=32)),
    "hf_wavlm": ("WavLMForSequenceClassification", "WavLMConfig", "sound",
                 dict(SPEECH, num_buckets=32, max_bucket_distance=64)),
}

MODELS = TRANSFORMERS

# Models with another loss than cross entropy over the last axis or the only one, and the flags for it.
FLAGS = {
    "hf_clip_text": ["--loss", "mse"],
    "hf_clip_vision": ["--loss", "mse"],
    "hf_patchtst": ["--loss", "mse"],
    "hf_wav2vec2_ctc": ["--class-axis", "-1"],
    "hf_yolos": ["--class-axis", "-1"],
    "hf_speech2text": ["--class-axis", "-1"],
    "hf_whisper": ["--class-axis", "-1"],
}

# The output of models whose output is not called `logits`.
OUTPUTS = {
    "hf_clip_text": "text_embeds",
    "hf_clip_vision": "image_embeds",
    "hf_patchtst": "prediction_outputs",
    "hf_splinter": "start_logits",
}


def title(name):
    return f"{name} ({TRANSFORMERS[name][0]})"


LENGTH = 12  # of sequences of tokens; those of decoders are shorter


def fed(kind, batch):
    """Example inputs by name."""
    import torch
    tokens = {"input_ids": torch.randint(4, 96, (batch, LENGTH))}
    mask = torch.ones(batch, LENGTH, dtype=torch.int64)
    mask[0, 9:] = 0
    decoder = {"decoder_input_ids": torch.randint(4, 96, (batch, LENGTH if LENGTH > 12 else 10))}
    return {
        "tokens": tokens,
        "masked": dict(tokens, attention_mask=mask),
        "two sequences": dict(tokens, attention_mask=mask, **decoder),
        "speech and sequence": {"input_features": torch.randn(batch, 32, 16), **decoder},
        "log-mel and sequence": {"input_features": torch.randn(batch, 16, 64), **decoder},
        "image": {"pixel_values": torch.randn(batch, 3, 32, 32)},
        "image of 64": {"pixel_values": torch.randn(batch, 3, 64, 64)},
        "sound": {"input_values": torch.randn(batch, 1600)},
        "spectrogram": {"input_values": torch.randn(batch, 64, 32)},
        "series": {"past_values": torch.randn(batch, 32, 4)},
    }[kind]


def make(name, batch):
    """The model, and its example inputs by name."""
    import torch
    import transformers
    model_class, config_class, kind, options = TRANSFORMERS[name]
    config = getattr(transformers, config_class)(**options)
    config.use_cache, config.return_dict = False, True
    model = getattr(transformers, model_class)(config)
    output, inputs = OUTPUTS.get(name, "logits"), fed(kind, batch)

    class Wrapped(torch.nn.Module):
        def __init__(self, wrapped, names):
            super().__init__()
            self.model, self.names = wrapped, names

        def forward(self, *inputs):
            return self.model(**dict(zip(self.names, inputs)))[output]

    return Wrapped(model, list(inputs)), inputs
