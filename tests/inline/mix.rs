// SPDX-License-Identifier: Apache-2.0
// mix.rs - iterators, closures, traits and generics, which are inlined many levels deep.
use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;

mod dice {
    pub struct Dice(pub u32);

    impl Dice {
        #[inline]
        fn mix(x: u32) -> u32 {
            let x = (x ^ (x >> 16)).wrapping_mul(0x7feb_352d);
            (x ^ (x >> 15)).wrapping_mul(0x846c_a68b)
        }
    }

    impl Iterator for Dice {
        type Item = u32;

        fn next(&mut self) -> Option<u32> {
            self.0 = Self::mix(self.0.wrapping_add(0x9e37_79b9));
            Some(self.0)
        }
    }
}

trait Area {
    fn area(&self) -> f64;
}

struct Circle(f64);
struct Rect {
    w: f64,
    h: f64,
}

impl Area for Circle {
    fn area(&self) -> f64 {
        std::f64::consts::PI * self.0.powi(2)
    }
}

impl Area for Rect {
    fn area(&self) -> f64 {
        self.w * self.h
    }
}

fn words(dice: &mut dice::Dice, n: usize) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for _ in 0..n {
        let len = dice.next().map_or(1, |x| x % 9 + 1) as usize;
        let word: String = dice.take(len).map(|x| (b'a' + (x % 26) as u8) as char).collect();
        *counts.entry(word).or_insert(0) += 1;
    }
    counts
}

fn largest<T: Ord + Copy, I: IntoIterator<Item = T>>(values: I, n: usize) -> Vec<T> {
    let mut all: Vec<T> = values.into_iter().collect();
    all.sort_unstable_by(|a, b| b.cmp(a));
    all.truncate(n);
    all
}

fn main() {
    let mut dice = dice::Dice(std::env::args().count() as u32);
    let mut by_letter: HashMap<char, Vec<String>> = HashMap::new();
    for (word, _) in words(&mut dice, 2000) {
        by_letter.entry(word.chars().next().unwrap_or('?')).or_default().push(word);
    }
    let longest = by_letter.values().flatten().map(String::len).max();
    let top = largest((&mut dice).take(5000).filter(|x| x % 3 == 0), 10);
    let shapes: Vec<Box<dyn Area>> = (&mut dice)
        .take(100)
        .map(|x| -> Box<dyn Area> {
            if x & 1 == 0 {
                Box::new(Circle(f64::from(x % 10)))
            } else {
                Box::new(Rect { w: f64::from(x % 7), h: f64::from(x % 11) })
            }
        })
        .collect();
    let area: f64 = shapes.iter().map(|s| s.area()).sum();
    let mut text = String::new();
    write!(text, "{longest:?} {top:?} {area:.1}").unwrap();
    println!("{text}");
}
