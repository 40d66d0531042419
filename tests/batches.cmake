# Tests that are compiled as one file, a batch a row: what they share of headers is parsed and compiled once, which saves a third of the time.
# Their own names must differ within a row, and clang warns of local variables with such a name: a test that cannot be in any row, or is in
# none, is compiled alone.
set(fovea_test_batches
    "cache cache_error cache_halves cache_history cache_power cache_quality cache_ring"
    "cache_int8 cache_refuse"
    "layer_dtypes layer_integers layer_integers_refuse layer_object layer_refuse"
    "linear linear_refuse"
    "linear_arranged linear_pack"
    "ops_activation ops_embed ops_memory ops_norm ops_products ops_refuse ops_rope ops_softmax"
    "refuse_later refuse_modifiers"
    "stored stored_drawn stored_halves stored_segments"
    "stories stories_tokenizer"
    "stories_cache stories_files stories_llama"
    "accuracy conformance extremes lot modifiers pattern peers worked_examples"
    "bits fuzz left_out parts shapes_bits written_bits"
    "activation bench bench_boards denormals header_cpp idle ranges safetensors_damaged"
    "attend fixed_attention"
    "memory plain safetensors seen selftest softmax_conformance"
    "pack rope_conformance scratch segments stack strides window"
    "tokenizer torch_attention unseen"
    "fixed_cache fixed_cache_history fixed_cache_image fixed_cache_refuse"
    "fixed_linear fixed_linear_refuse"
    "fixed_accuracy fixed_options fixed_pattern fixed_refuse"
    "fixed_s16 fixed_tables fixed_unseen"
    "fixed_arm64 fixed_entries fixed_memory fixed_pack fixed_ranges fixed_refuse_memory fixed_selftest"
    "fixed_quantize fixed_s16_bits fixed_softmax fixed_strides fixed_weights integer_digest integer_digits integer_left_out")
foreach(batch IN LISTS fovea_test_batches)
  string(REGEX REPLACE "^([^ ]+).*" "\\1" first "${batch}")
  string(REGEX REPLACE "([^ ]+) ?" "\\1_test.cpp;" files "${batch}")
  set_property(SOURCE ${files} PROPERTY UNITY_GROUP ${first})
endforeach()
