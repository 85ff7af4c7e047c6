"""A second stage that has been given more parameters, and a caller that still passes the old ones.

    python call_of_an_older_signature.py

Stands for `decode_attention_fwd_grouped_rope` (rocm_mla_decode_rope.py 439) of sglang, which calls `_decode_softmax_reducev_fwd` of
decode_attention.py: the parameters below are those of the two files.
"""


def reduce_splits(
    logits,
    lse,
    q,
    o,
    v_scale,
    v_buffer,
    kv_indptr,
    num_kv_splits,
    max_kv_splits,
    sinks=None,
    use_pdl=False,
    forced_kv_splits=0,
):
    return o


def decode(attn_logits, q, o, v_buffer, kv_indptr, num_kv_splits):
    reduce_splits(attn_logits, q, o, v_buffer, kv_indptr, num_kv_splits)


said = ""
try:
    decode(*range(6))
except TypeError as error:
    said = str(error)
print(said)
assert "'kv_indptr', 'num_kv_splits', and 'max_kv_splits'" in said
