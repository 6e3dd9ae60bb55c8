//! A language model that fits into a few hundred kilobytes, with weights that mean nothing, in the file form of
//! llama.cpp (GGUF version 3): what it says is noise, how it queues and batches is real.

use std::{io, path::Path};

/// Width of the model; small, so that a token takes next to nothing.
const WIDTH: u64 = 64;
/// Width between the two halves of a block.
const INNER: u64 = 128;
/// The three special tokens and one for each byte.
const TOKENS: u64 = 3 + 256;

/// Numbers of GGUF's types of values.
const U32: u32 = 4;
const I32: u32 = 5;
const F32: u32 = 6;
const TEXT: u32 = 8;
const LIST: u32 = 9;

/// Where tensors may begin.
const ALIGNMENT: usize = 32;

#[derive(Default)]
struct File {
    bytes: Vec<u8>,
}

impl File {
    fn u32(&mut self, value: u32) {
        self.bytes.extend(value.to_le_bytes());
    }

    fn u64(&mut self, value: u64) {
        self.bytes.extend(value.to_le_bytes());
    }

    fn f32(&mut self, value: f32) {
        self.bytes.extend(value.to_le_bytes());
    }

    fn text(&mut self, value: &str) {
        self.u64(value.len() as u64);
        self.bytes.extend(value.as_bytes());
    }

    fn key(&mut self, key: &str, kind: u32) {
        self.text(key);
        self.u32(kind);
    }

    fn pad(&mut self) {
        self.bytes
            .resize(self.bytes.len().next_multiple_of(ALIGNMENT), 0);
    }
}

/// What says how the model is built, and the words it knows: one for each byte.
fn facts(file: &mut File) {
    for (key, value) in [
        ("general.architecture", "llama"),
        ("tokenizer.ggml.model", "llama"),
    ] {
        file.key(key, TEXT);
        file.text(value);
    }
    for (key, value) in [
        ("llama.context_length", 2048),
        ("llama.embedding_length", 64),
        ("llama.block_count", 1),
        ("llama.feed_forward_length", 128),
        ("llama.attention.head_count", 4),
        ("llama.rope.dimension_count", 16),
        ("tokenizer.ggml.bos_token_id", 1),
        ("tokenizer.ggml.eos_token_id", 2),
        ("tokenizer.ggml.unknown_token_id", 0),
    ] {
        file.key(key, U32);
        file.u32(value);
    }
    file.key("llama.attention.layer_norm_rms_epsilon", F32);
    file.f32(1e-5);
    let special = ["<unk>", "<s>", "</s>"].map(str::to_owned);
    let bytes = (0..256).map(|byte| format!("<0x{byte:02X}>"));
    let words: Vec<String> = special.into_iter().chain(bytes).collect();
    file.key("tokenizer.ggml.tokens", LIST);
    file.u32(TEXT);
    file.u64(TOKENS);
    for word in &words {
        file.text(word);
    }
    file.key("tokenizer.ggml.scores", LIST);
    file.u32(F32);
    file.u64(TOKENS);
    for _ in &words {
        file.f32(0.0);
    }
    file.key("tokenizer.ggml.token_type", LIST);
    file.u32(I32);
    file.u64(TOKENS);
    for number in 0..TOKENS {
        // Unknown, control, or a byte.
        file.u32(match number {
            0 => 2,
            1 | 2 => 3,
            _ => 6,
        });
    }
}

/// Facts that [`facts`] writes.
const FACTS: u64 = 15;

/// Writes the model; the same bytes every time.
///
/// # Errors
/// The file cannot be written.
pub fn write(path: &Path) -> io::Result<()> {
    let tensors: [(&str, &[u64]); 12] = [
        ("token_embd.weight", &[WIDTH, TOKENS]),
        ("output_norm.weight", &[WIDTH]),
        ("output.weight", &[WIDTH, TOKENS]),
        ("blk.0.attn_norm.weight", &[WIDTH]),
        ("blk.0.attn_q.weight", &[WIDTH, WIDTH]),
        ("blk.0.attn_k.weight", &[WIDTH, WIDTH]),
        ("blk.0.attn_v.weight", &[WIDTH, WIDTH]),
        ("blk.0.attn_output.weight", &[WIDTH, WIDTH]),
        ("blk.0.ffn_norm.weight", &[WIDTH]),
        ("blk.0.ffn_gate.weight", &[WIDTH, INNER]),
        ("blk.0.ffn_up.weight", &[WIDTH, INNER]),
        ("blk.0.ffn_down.weight", &[INNER, WIDTH]),
    ];
    let mut file = File::default();
    file.bytes.extend(b"GGUF");
    file.u32(3);
    file.u64(tensors.len() as u64);
    file.u64(FACTS);
    facts(&mut file);
    let mut offset = 0;
    for (name, shape) in tensors {
        file.text(name);
        file.u32(u32::try_from(shape.len()).unwrap_or_default());
        for size in shape {
            file.u64(*size);
        }
        // Type 0: numbers of 32 bits.
        file.u32(0);
        file.u64(offset);
        offset += (4 * shape.iter().product::<u64>()).next_multiple_of(ALIGNMENT as u64);
    }
    file.pad();
    let mut state = 7_u32;
    for (name, shape) in tensors {
        for _ in 0..shape.iter().product() {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let noise = f32::from(u16::try_from(state >> 16).unwrap_or_default()) / 65_536.0 - 0.5;
            file.f32(if name.contains("norm") { 1.0 } else { noise });
        }
        file.pad();
    }
    std::fs::write(path, file.bytes)
}
