// SPDX-License-Identifier: Apache-2.0
// busy.rs - a busy Rust program: threads, hash maps, sorting with closures, formatting, panics that
// are caught. Usage: busy [SECONDS]
use std::collections::HashMap;
use std::time::{Duration, Instant};

#[inline(never)]
fn grind(mut x: u64, turns: u32) -> u64 {
    for _ in 0..turns {
        x = (x ^ (x >> 13)).wrapping_mul(0x9e3779b97f4a7c15);
    }
    x
}

#[inline(never)]
fn descend(x: u64, depth: u32) -> u64 {
    if depth == 0 {
        return grind(x, 20000);
    }
    descend(x + 1, depth - 1).wrapping_add(depth as u64)
}

#[inline(never)]
fn count_words(seed: u64) -> usize {
    let mut seen: HashMap<String, Vec<u64>> = HashMap::new();
    let mut x = seed;
    for _ in 0..500 {
        x = grind(x, 3);
        seen.entry(format!("word-{}", x % 97)).or_default().push(x);
    }
    let mut all: Vec<_> = seen.iter().map(|(k, v)| (v.len(), k.clone())).collect();
    all.sort_by(|a, b| b.cmp(a));
    all.len()
}

#[inline(never)]
fn may_panic(x: u64) -> u64 {
    if x % 5 == 0 {
        panic!("one in five");
    }
    x
}

fn work(end: Instant, seed: u64) -> u64 {
    let mut x = seed;
    while Instant::now() < end {
        x = x.wrapping_add(count_words(x) as u64).wrapping_add(descend(x >> 8, 60) & 1);
        x = std::panic::catch_unwind(|| may_panic(x)).unwrap_or(x + 1);
    }
    x
}

fn main() {
    let seconds = std::env::args().nth(1).and_then(|s| s.parse().ok()).unwrap_or(60);
    let end = Instant::now() + Duration::from_secs(seconds);
    std::panic::set_hook(Box::new(|_| {}));
    let other = std::thread::spawn(move || work(end, 7));
    let sum = work(end, 3).wrapping_add(other.join().unwrap());
    std::process::exit((sum == 1) as i32);
}
