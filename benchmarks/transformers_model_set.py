"""The models of transformers in torch_model_set.py: the class, its small
configuration, what it is given, and the results that are compared."""

import torch

TOKENS = ["input_ids"]
MASKED = ["input_ids", "attention_mask"]
PAIRS = ["input_ids", "decoder_input_ids"]
DECODED = ["decoder_input_ids", "decoder_attention_mask"]
PIXELS = ["pixel_values"]
SOUND = ["input_values"]
LOGITS = ["logits"]
HIDDEN = ["last_hidden_state"]

SMALL = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
         "intermediate_size": 128, "vocab_size": 200}
DECODER = {**SMALL, "num_key_value_heads": 2, "max_position_embeddings": 128,
           "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
EXPERTS = {**DECODER, "head_dim": 16, "num_experts_per_tok": 2}
GPT = {"n_embd": 64, "n_layer": 2, "n_head": 4, "vocab_size": 200,
       "n_positions": 128}
SEQUENCES = {"d_model": 64, "encoder_layers": 2, "decoder_layers": 2,
             "encoder_attention_heads": 4, "decoder_attention_heads": 4,
             "encoder_ffn_dim": 128, "decoder_ffn_dim": 128, "vocab_size": 200,
             "max_position_embeddings": 128, "pad_token_id": 0,
             "bos_token_id": 1, "eos_token_id": 2,
             "decoder_start_token_id": 2}
PICTURES = {**SMALL, "image_size": 64, "patch_size": 16}
T5 = {"d_model": 64, "d_kv": 16, "d_ff": 128, "num_layers": 2, "num_heads": 4,
      "vocab_size": 200, "decoder_start_token_id": 0}
WAVES = {**SMALL, "conv_dim": [32] * 7, "num_conv_pos_embeddings": 16,
         "num_conv_pos_embedding_groups": 4}
TOWERS = {
    "text_config": {**SMALL, "max_position_embeddings": 32,
                    "projection_dim": 32, "pad_token_id": 0,
                    "bos_token_id": 1, "eos_token_id": 2},
    "vision_config": {**PICTURES, "projection_dim": 32}, "projection_dim": 32}
WINDOWS = {"image_size": 64, "patch_size": 4, "embed_dim": 32,
           "depths": [2, 2], "num_heads": [2, 4], "window_size": 4}
BACKBONE = {"model_type": "resnet", "embedding_size": 16,
            "hidden_sizes": [16, 32, 48, 64], "depths": [1, 1, 1, 1],
            "out_features": ["stage4"]}
DETECTOR = {"d_model": 64, "encoder_layers": 1, "decoder_layers": 1,
            "encoder_attention_heads": 4, "decoder_attention_heads": 4,
            "encoder_ffn_dim": 128, "decoder_ffn_dim": 128, "num_queries": 10}
SERIES = {"prediction_length": 8, "context_length": 24, "lags_sequence": [1, 2],
          "num_time_features": 2, "d_model": 32, "encoder_layers": 1,
          "decoder_layers": 1}
FORECAST = ["history", "past_time_features", "past_observed_mask",
            "future_values", "future_time_features"]

MODELS = {
    # Encoders of text.
    "bert": ("BertForSequenceClassification", SMALL, TOKENS, LOGITS),
    "roberta": ("RobertaForSequenceClassification", SMALL, TOKENS, LOGITS),
    "distilbert": ("DistilBertForSequenceClassification",
                   {"dim": 64, "n_layers": 2, "n_heads": 4, "hidden_dim": 128,
                    "vocab_size": 200}, TOKENS, LOGITS),
    "albert": ("AlbertForSequenceClassification",
               {**SMALL, "embedding_size": 32}, TOKENS, LOGITS),
    "electra": ("ElectraForSequenceClassification",
                {**SMALL, "embedding_size": 32}, TOKENS, LOGITS),
    "mpnet": ("MPNetForSequenceClassification", SMALL, TOKENS, LOGITS),
    "deberta": ("DebertaV2ForSequenceClassification", SMALL, TOKENS, LOGITS),
    "deberta_v1": ("DebertaForMaskedLM",
                   {**SMALL, "relative_attention": True,
                    "pos_att_type": ["c2p", "p2c"],
                    "max_relative_positions": 64}, TOKENS, LOGITS),
    "deberta_v2_relative": ("DebertaV2ForMaskedLM",
                            {**SMALL, "relative_attention": True,
                             "pos_att_type": ["c2p", "p2c"],
                             "position_buckets": 16}, TOKENS, LOGITS),
    "xlm_roberta": ("XLMRobertaForTokenClassification", SMALL, MASKED, LOGITS),
    "camembert": ("CamembertForMaskedLM", SMALL, MASKED, LOGITS),
    "xlnet": ("XLNetLMHeadModel",
              {"d_model": 64, "n_layer": 2, "n_head": 4, "d_inner": 128,
               "vocab_size": 200}, TOKENS, LOGITS),
    "xlm": ("XLMWithLMHeadModel",
            {"emb_dim": 64, "n_layers": 2, "n_heads": 4, "vocab_size": 200,
             "max_position_embeddings": 128}, TOKENS, LOGITS),
    "fnet": ("FNetForMaskedLM", SMALL, TOKENS, LOGITS),
    "mobilebert": ("MobileBertForMaskedLM",
                   {**SMALL, "embedding_size": 32, "intra_bottleneck_size": 32},
                   TOKENS, LOGITS),
    "squeezebert": ("SqueezeBertForMaskedLM",
                    {**SMALL, "embedding_size": 64}, TOKENS, LOGITS),
    "convbert": ("ConvBertForMaskedLM",
                 {**SMALL, "embedding_size": 64}, TOKENS, LOGITS),
    "nystromformer": ("NystromformerForMaskedLM",
                      {**SMALL, "num_landmarks": 8, "segment_means_seq_len": 32},
                      TOKENS, LOGITS),
    "roformer": ("RoFormerForMaskedLM",
                 {**SMALL, "embedding_size": 64}, TOKENS, LOGITS),
    "esm": ("EsmForMaskedLM",
            {**SMALL, "position_embedding_type": "rotary", "pad_token_id": 1,
             "mask_token_id": 199}, MASKED, LOGITS),
    "funnel": ("FunnelForMaskedLM",
               {"vocab_size": 200, "block_sizes": [1, 1], "d_model": 64,
                "n_head": 4, "d_head": 16, "d_inner": 128}, TOKENS, LOGITS),
    "longformer": ("LongformerForMaskedLM",
                   {**SMALL, "attention_window": 8, "pad_token_id": 1},
                   MASKED, LOGITS),
    "big_bird_sparse": ("BigBirdForMaskedLM",
                        {**SMALL, "block_size": 2, "num_random_blocks": 1},
                        MASKED, LOGITS),
    "big_bird": ("BigBirdForMaskedLM",
                 {**SMALL, "attention_type": "original_full"}, MASKED, LOGITS),
    "reformer": ("ReformerModelWithLMHead",
                 {"vocab_size": 200, "hidden_size": 64,
                  "attention_head_size": 16, "num_attention_heads": 4,
                  "attn_layers": ["local", "local"],
                  "local_attn_chunk_length": 8, "feed_forward_size": 128,
                  "axial_pos_shape": [4, 8], "axial_pos_embds_dim": [32, 32],
                  "max_position_embeddings": 32, "is_decoder": True},
                 TOKENS, LOGITS),
    "layoutlm": ("LayoutLMForTokenClassification", SMALL,
                 ["input_ids", "bbox"], LOGITS),
    "modernbert": ("ModernBertForMaskedLM",
                   {**DECODER, "cls_token_id": 1, "sep_token_id": 2},
                   MASKED, LOGITS),
    "canine": ("CanineModel",
               {**SMALL, "num_hash_functions": 4, "num_hash_buckets": 64,
                "local_transformer_stride": 8}, TOKENS, HIDDEN),
    "ibert": ("IBertForMaskedLM", SMALL, TOKENS, LOGITS),
    "perceiver": ("PerceiverForMaskedLM",
                  {"num_latents": 16, "d_latents": 64, "d_model": 64,
                   "num_blocks": 1, "num_self_attends_per_block": 2,
                   "num_self_attention_heads": 4, "num_cross_attention_heads": 4,
                   "vocab_size": 200, "max_position_embeddings": 32,
                   "qk_channels": 32, "v_channels": 64}, TOKENS, LOGITS),
    # Decoders of text.
    "gpt2": ("GPT2LMHeadModel", GPT, MASKED, LOGITS),
    "gpt_neo": ("GPTNeoForCausalLM",
                {"hidden_size": 64, "num_layers": 2, "num_heads": 4,
                 "attention_types": [[["global", "local"], 1]],
                 "vocab_size": 200}, MASKED, LOGITS),
    "gpt_neox": ("GPTNeoXForCausalLM", SMALL, MASKED, LOGITS),
    "gptj": ("GPTJForCausalLM", {**GPT, "rotary_dim": 8}, MASKED, LOGITS),
    "codegen": ("CodeGenForCausalLM", {**GPT, "rotary_dim": 8},
                MASKED, LOGITS),
    "gpt_bigcode": ("GPTBigCodeForCausalLM", GPT, MASKED, LOGITS),
    "openai_gpt": ("OpenAIGPTLMHeadModel", GPT, MASKED, LOGITS),
    "ctrl": ("CTRLLMHeadModel", {**GPT, "dff": 128}, MASKED, LOGITS),
    "opt": ("OPTForCausalLM",
            {"hidden_size": 64, "num_hidden_layers": 2,
             "num_attention_heads": 4, "ffn_dim": 128, "vocab_size": 200,
             "word_embed_proj_dim": 64, "max_position_embeddings": 128},
            MASKED, LOGITS),
    "bloom": ("BloomForCausalLM",
              {"hidden_size": 64, "n_layer": 2, "n_head": 4,
               "vocab_size": 200}, MASKED, LOGITS),
    "mpt": ("MptForCausalLM",
            {"d_model": 64, "n_heads": 4, "n_layers": 2, "max_seq_len": 128,
             "vocab_size": 200}, MASKED, LOGITS),
    "xglm": ("XGLMForCausalLM",
             {"d_model": 64, "num_layers": 2, "attention_heads": 4,
              "ffn_dim": 128, "vocab_size": 200,
              "max_position_embeddings": 128}, MASKED, LOGITS),
    "llama": ("LlamaForCausalLM", DECODER, MASKED, LOGITS),
    "mistral": ("MistralForCausalLM", DECODER, MASKED, LOGITS),
    "qwen2": ("Qwen2ForCausalLM", DECODER, MASKED, LOGITS),
    "qwen3": ("Qwen3ForCausalLM", {**DECODER, "head_dim": 16}, MASKED, LOGITS),
    "gemma": ("GemmaForCausalLM", {**DECODER, "head_dim": 16}, MASKED, LOGITS),
    "gemma2": ("Gemma2ForCausalLM",
               {**DECODER, "head_dim": 16, "sliding_window": 8},
               MASKED, LOGITS),
    "gemma3": ("Gemma3ForCausalLM",
               {**DECODER, "head_dim": 16, "sliding_window": 8},
               MASKED, LOGITS),
    "phi": ("PhiForCausalLM", DECODER, MASKED, LOGITS),
    "phi3": ("Phi3ForCausalLM", DECODER, MASKED, LOGITS),
    "falcon": ("FalconForCausalLM",
               {**SMALL, "new_decoder_architecture": False,
                "multi_query": True}, MASKED, LOGITS),
    "olmo": ("OlmoForCausalLM", DECODER, MASKED, LOGITS),
    "olmo2": ("Olmo2ForCausalLM", DECODER, MASKED, LOGITS),
    "stablelm": ("StableLmForCausalLM", DECODER, MASKED, LOGITS),
    "cohere": ("CohereForCausalLM", DECODER, MASKED, LOGITS),
    "granite": ("GraniteForCausalLM", DECODER, MASKED, LOGITS),
    "starcoder2": ("Starcoder2ForCausalLM", DECODER, MASKED, LOGITS),
    "nemotron": ("NemotronForCausalLM", DECODER, MASKED, LOGITS),
    "glm": ("GlmForCausalLM", {**DECODER, "head_dim": 16}, MASKED, LOGITS),
    "smollm3": ("SmolLM3ForCausalLM", DECODER, MASKED, LOGITS),
    "mixtral": ("MixtralForCausalLM",
                {**EXPERTS, "num_local_experts": 4}, MASKED, LOGITS),
    "qwen3_moe": ("Qwen3MoeForCausalLM",
                  {**EXPERTS, "num_experts": 4, "moe_intermediate_size": 32},
                  MASKED, LOGITS),
    "olmoe": ("OlmoeForCausalLM", {**EXPERTS, "num_experts": 4},
              MASKED, LOGITS),
    "mamba": ("MambaForCausalLM",
              {"hidden_size": 64, "num_hidden_layers": 2, "state_size": 8,
               "vocab_size": 200}, MASKED, LOGITS),
    "mamba2": ("Mamba2ForCausalLM",
               {"hidden_size": 64, "num_hidden_layers": 2, "state_size": 16,
                "vocab_size": 200, "num_heads": 8, "head_dim": 16,
                "n_groups": 1, "chunk_size": 16}, MASKED, LOGITS),
    "rwkv": ("RwkvForCausalLM",
             {"hidden_size": 64, "num_hidden_layers": 2, "vocab_size": 200,
              "context_length": 64}, TOKENS, LOGITS),
    "deepseek_v3": ("DeepseekV3ForCausalLM",
                    {**DECODER, "num_key_value_heads": 4, "q_lora_rank": 32,
                     "kv_lora_rank": 16, "qk_rope_head_dim": 8,
                     "qk_nope_head_dim": 16, "v_head_dim": 16,
                     "n_routed_experts": 4, "num_experts_per_tok": 2,
                     "n_group": 2, "topk_group": 1, "first_k_dense_replace": 1,
                     "moe_intermediate_size": 32}, MASKED, LOGITS),
    "gpt_oss": ("GptOssForCausalLM",
                {**EXPERTS, "num_local_experts": 4, "sliding_window": 8},
                MASKED, LOGITS),
    "recurrent_gemma": ("RecurrentGemmaForCausalLM",
                        {**DECODER, "lru_width": 64, "attention_window_size": 16,
                         "num_hidden_layers": 3}, MASKED, LOGITS),
    "lfm2": ("Lfm2ForCausalLM",
             {**DECODER, "layer_types": ["conv", "full_attention"]},
             MASKED, LOGITS),
    # From text to text.
    "t5": ("T5ForConditionalGeneration", T5, PAIRS, LOGITS),
    "mt5": ("MT5ForConditionalGeneration", T5, PAIRS, LOGITS),
    "switch_transformers": ("SwitchTransformersForConditionalGeneration",
                            {**T5, "num_experts": 4, "num_sparse_encoder_layers": 1,
                             "num_sparse_decoder_layers": 1}, PAIRS, LOGITS),
    "bart": ("BartForConditionalGeneration", SEQUENCES, PAIRS, LOGITS),
    "mbart": ("MBartForConditionalGeneration", SEQUENCES, PAIRS, LOGITS),
    "marian": ("MarianMTModel", SEQUENCES, PAIRS, LOGITS),
    "pegasus": ("PegasusForConditionalGeneration", SEQUENCES, PAIRS, LOGITS),
    "m2m_100": ("M2M100ForConditionalGeneration", SEQUENCES, PAIRS, LOGITS),
    "blenderbot": ("BlenderbotForConditionalGeneration", SEQUENCES, PAIRS,
                   LOGITS),
    "led": ("LEDForConditionalGeneration",
            {**SEQUENCES, "attention_window": 8,
             "max_encoder_position_embeddings": 128,
             "max_decoder_position_embeddings": 128}, PAIRS, LOGITS),
    "prophetnet": ("ProphetNetForConditionalGeneration",
                   {"hidden_size": 64, "num_encoder_layers": 2,
                    "num_decoder_layers": 2, "num_encoder_attention_heads": 4,
                    "num_decoder_attention_heads": 4, "encoder_ffn_dim": 128,
                    "decoder_ffn_dim": 128, "vocab_size": 200,
                    "max_position_embeddings": 128}, PAIRS, LOGITS),
    # Pictures.
    "vit": ("ViTForImageClassification", PICTURES, PIXELS, LOGITS),
    "deit": ("DeiTForImageClassification", PICTURES, PIXELS, LOGITS),
    "beit": ("BeitForImageClassification",
             {**PICTURES, "use_relative_position_bias": True}, PIXELS, LOGITS),
    "data2vec_vision": ("Data2VecVisionForImageClassification", PICTURES,
                        PIXELS, LOGITS),
    "swin": ("SwinForImageClassification", WINDOWS, PIXELS, LOGITS),
    "swinv2": ("Swinv2ForImageClassification", WINDOWS, PIXELS, LOGITS),
    "dinov2": ("Dinov2Model", {**PICTURES, "mlp_ratio": 2}, PIXELS, HIDDEN),
    "convnext": ("ConvNextForImageClassification",
                 {"hidden_sizes": [16, 32], "depths": [2, 2], "num_stages": 2},
                 PIXELS, LOGITS),
    "segformer": ("SegformerForSemanticSegmentation",
                  {"hidden_sizes": [16, 32, 48, 64], "depths": [1, 1, 1, 1],
                   "num_attention_heads": [1, 2, 4, 4],
                   "decoder_hidden_size": 32}, PIXELS, LOGITS),
    "dpt": ("DPTForDepthEstimation",
            {**PICTURES, "num_hidden_layers": 4,
             "backbone_out_indices": [0, 1, 2, 3],
             "neck_hidden_sizes": [16, 16, 32, 32], "fusion_hidden_size": 16,
             "reassemble_factors": [4, 2, 1, 0.5]},
            PIXELS, ["predicted_depth"]),
    "yolos": ("YolosForObjectDetection",
              {**PICTURES, "image_size": [64, 64], "num_detection_tokens": 10},
              PIXELS, ["logits", "pred_boxes"]),
    "detr": ("DetrForObjectDetection",
             {**DETECTOR, "backbone_config": BACKBONE},
             PIXELS, ["logits", "pred_boxes"]),
    "mobilevit": ("MobileViTForImageClassification",
                  {"image_size": 64, "hidden_sizes": [16, 24, 32],
                   "num_attention_heads": 4}, PIXELS, LOGITS),
    "poolformer": ("PoolFormerForImageClassification",
                   {"hidden_sizes": [16, 32, 48, 64], "depths": [1, 1, 1, 1]},
                   PIXELS, LOGITS),
    "vit_mae": ("ViTMAEModel",
                {**PICTURES, "mask_ratio": 0.0}, ["pixel_values", "noise"],
                HIDDEN),
    "videomae": ("VideoMAEModel",
                 {**PICTURES, "num_frames": 4}, ["pixel_values_videos"],
                 HIDDEN),
    "deformable_detr": ("DeformableDetrForObjectDetection",
                        {**DETECTOR, "decoder_layers": 2,
                         "num_feature_levels": 2, "encoder_n_points": 2,
                         "decoder_n_points": 2,
                         "backbone_config": {**BACKBONE, "out_features":
                                             ["stage3", "stage4"]}},
                        PIXELS, ["logits", "pred_boxes"]),
    "conditional_detr": ("ConditionalDetrForObjectDetection",
                         {**DETECTOR, "backbone_config": BACKBONE},
                         PIXELS, ["logits", "pred_boxes"]),
    "maskformer": ("MaskFormerForInstanceSegmentation",
                   {"fpn_feature_size": 32, "mask_feature_size": 32,
                    "backbone_config": {**WINDOWS, "model_type": "swin",
                                        "depths": [1, 1, 1, 1],
                                        "num_heads": [2, 2, 4, 4],
                                        "window_size": 2},
                    "decoder_config": {**DETECTOR, "model_type": "detr",
                                       "backbone_config": BACKBONE}},
                   PIXELS, ["class_queries_logits", "masks_queries_logits"]),
    "swin2sr": ("Swin2SRForImageSuperResolution",
                {"image_size": 64, "embed_dim": 32, "depths": [2, 2],
                 "num_heads": [2, 2], "window_size": 4, "upscale": 2},
                PIXELS, ["reconstruction"]),
    "levit": ("LevitForImageClassification",
              {"image_size": 64, "hidden_sizes": [32, 48, 64],
               "num_attention_heads": [2, 3, 4], "depths": [1, 1, 1],
               "key_dim": [8, 8, 8]}, PIXELS, LOGITS),
    "glpn": ("GLPNForDepthEstimation",
             {"hidden_sizes": [16, 32, 48, 64], "depths": [1, 1, 1, 1],
              "num_attention_heads": [1, 2, 4, 4], "decoder_hidden_size": 16},
             PIXELS, ["predicted_depth"]),
    "timesformer": ("TimesformerForVideoClassification",
                    {**PICTURES, "num_frames": 4}, ["pixel_values_videos"],
                    LOGITS),
    # Pictures and text.
    "clip": ("CLIPModel", TOWERS, ["input_ids", "pixel_values"],
             ["logits_per_image", "image_embeds", "text_embeds"]),
    "siglip": ("SiglipModel", TOWERS, ["input_ids", "pixel_values"],
               ["logits_per_image", "image_embeds", "text_embeds"]),
    "owlvit": ("OwlViTForObjectDetection", {**TOWERS, "projection_dim": 64},
               ["input_ids", "pixel_values", "attention_mask"],
               ["logits", "pred_boxes"]),
    "vilt": ("ViltModel",
             {**PICTURES, "max_position_embeddings": 64, "max_image_length": -1},
             ["input_ids", "pixel_values"], HIDDEN),
    "sam": ("SamModel",
            {"vision_config": {"hidden_size": 64, "num_hidden_layers": 2,
                               "num_attention_heads": 4, "image_size": 64,
                               "output_channels": 32, "mlp_dim": 128,
                               "global_attn_indexes": [1], "window_size": 2,
                               "num_pos_feats": 16},
             "prompt_encoder_config": {"hidden_size": 32, "image_size": 64,
                                       "mask_input_channels": 8},
             "mask_decoder_config": {"hidden_size": 32, "mlp_dim": 64,
                                     "num_attention_heads": 4,
                                     "iou_head_hidden_dim": 32}},
            ["pixel_values", "input_points"], ["pred_masks", "iou_scores"]),
    "layoutlmv3": ("LayoutLMv3ForTokenClassification",
                   {**SMALL, "visual_embed": False, "coordinate_size": 11,
                    "shape_size": 10, "pad_token_id": 0},
                   ["input_ids", "bbox"], LOGITS),
    "blip": ("BlipForImageTextRetrieval",
             {**TOWERS, "image_text_hidden_size": 32},
             ["input_ids", "pixel_values"], ["itm_score"]),
    # Sound.
    "wav2vec2_conformer": ("Wav2Vec2ConformerModel",
                           {**WAVES, "position_embeddings_type": "relative"},
                           SOUND, HIDDEN),
    "encodec": ("EncodecModel",
                {"num_filters": 4, "hidden_size": 16, "codebook_size": 32,
                 "codebook_dim": 16, "upsampling_ratios": [4, 2]},
                ["wave"], ["audio_values"]),
    "wav2vec2": ("Wav2Vec2Model", WAVES, SOUND, HIDDEN),
    "hubert": ("HubertModel", WAVES, SOUND, HIDDEN),
    "wavlm": ("WavLMModel", WAVES, SOUND, HIDDEN),
    "unispeech": ("UniSpeechModel", WAVES, SOUND, HIDDEN),
    "whisper": ("WhisperForConditionalGeneration",
                {**SEQUENCES, "max_source_positions": 50,
                 "max_target_positions": 64, "num_mel_bins": 80},
                ["spectrum", *DECODED], LOGITS),
    "speech_to_text": ("Speech2TextForConditionalGeneration",
                       {**SEQUENCES, "max_source_positions": 100,
                        "max_target_positions": 64, "input_feat_per_channel": 80,
                        "conv_channels": 64}, ["features", *DECODED], LOGITS),
    "audio_spectrogram": ("ASTForAudioClassification",
                          {**SMALL, "max_length": 64, "num_mel_bins": 32},
                          ["frames"], LOGITS),
    # Series.
    "autoformer": ("AutoformerModel", SERIES, FORECAST, HIDDEN),
    "informer": ("InformerModel", SERIES, FORECAST, HIDDEN),
    "time_series": ("TimeSeriesTransformerModel", SERIES, FORECAST, HIDDEN),
    "patchtst": ("PatchTSTForPrediction",
                 {"num_input_channels": 3, "context_length": 32,
                  "patch_length": 8, "patch_stride": 8, "d_model": 32,
                  "num_hidden_layers": 2, "num_attention_heads": 4,
                  "ffn_dim": 64, "prediction_length": 8},
                 ["past_values"], ["prediction_outputs"]),
    "patchtsmixer": ("PatchTSMixerForPrediction",
                     {"num_input_channels": 3, "context_length": 32,
                      "patch_length": 8, "patch_stride": 8, "d_model": 16,
                      "num_layers": 2, "prediction_length": 8},
                     ["past_values"], ["prediction_outputs"]),
}

# Inputs whose names here are not the models', which give other shapes the same.
MODEL_NAMES = {"spectrum": "input_features", "features": "input_features",
               "frames": "input_values", "wave": "input_values",
               "history": "past_values", "pixel_values_videos": "pixel_values"}


class Tensors(torch.nn.Module):
    """A model of transformers as one from tensors to tensors."""

    def __init__(self, model, inputs, outputs):
        super().__init__()
        self.model, self.inputs, self.outputs = model, inputs, outputs

    def forward(self, *tensors):
        given = dict(zip(self.inputs, tensors))
        result = self.model(**given, return_dict=True)
        values = tuple(result[name] for name in self.outputs)
        return values if len(values) > 1 else values[0]


def draw(name, batch, generator):
    """The input of this name."""
    if name in ("input_ids", "decoder_input_ids"):
        return torch.randint(3, 200, (batch, 32), generator=generator)
    if name in ("attention_mask", "decoder_attention_mask"):
        return torch.ones(batch, 32, dtype=torch.int64)
    if name == "past_observed_mask":
        return torch.ones(batch, 26)
    if name == "bbox":
        return torch.randint(0, 500, (batch, 32, 4), generator=generator) + (
            torch.tensor([0, 0, 500, 500]))
    shapes = {
        "pixel_values": (3, 64, 64),
        "pixel_values_videos": (4, 3, 64, 64),
        "noise": (16,),
        "input_values": (4000,),
        "spectrum": (80, 100),
        "features": (100, 80),
        "frames": (64, 32),
        "wave": (1, 320),
        "history": (26,),
        "past_time_features": (26, 2),
        "future_values": (8,),
        "future_time_features": (8, 2),
        "past_values": (32, 3),
        "input_points": (1, 2, 2),
    }
    value = torch.randn(batch, *shapes[name], generator=generator)
    return 32 + 8 * value if name == "input_points" else value


def switch_off_dropping(config):
    for option in list(vars(config)):
        value = getattr(config, option)
        if hasattr(value, "to_dict"):  # A configuration of a part.
            switch_off_dropping(value)
        elif type(value) in (int, float) and (
            "dropout" in option or option.endswith("drop") or "_drop_" in option
        ):
            setattr(config, option, type(value)(0))
    if hasattr(config, "use_cache"):
        config.use_cache = False
    if hasattr(config, "layerdrop"):
        config.layerdrop = 0.0


def make(model, batch, generator):
    import transformers

    name, options, inputs, outputs = MODELS[model]
    class_ = getattr(transformers, name)
    config = class_.config_class(**options)
    switch_off_dropping(config)
    given = tuple(draw(i, batch, generator) for i in inputs)
    names = [MODEL_NAMES.get(i, i) for i in inputs]
    made = class_(config)
    if made._can_set_experts_implementation():
        # What exporters take: no expert gets a number of tokens of its own.
        made.set_experts_implementation("batched_mm")
    return Tensors(made, names, outputs), given
