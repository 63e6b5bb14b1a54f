//! Damaged files of every format are read or refused, never more.

use super::load;
use super::random::{self, PLAIN, Random, Shape};
use history::format::{Format, write, write_logs};

fn damage(bytes: &mut Vec<u8>, random: &mut Random) {
    const INTERESTING: &[u8] = b"()[]{}\",:;=-#!?rwSRWCA0918 \n\r\0\xff\x80";
    for _ in 0..1 + random.below(3) {
        let at = random.below(bytes.len() as u64 + 1) as usize;
        let byte = INTERESTING[random.below(INTERESTING.len() as u64) as usize];
        match random.below(4) {
            0 => bytes.truncate(at),
            1 => bytes.insert(at, byte),
            2 if at < bytes.len() => bytes[at] = byte,
            _ if at < bytes.len() => drop(bytes.remove(at)),
            _ => {}
        }
    }
}

#[test]
fn damaged_files_never_panic() {
    let shape = Shape {
        unique_labels: true,
        ..PLAIN
    };
    for seed in 0..60 {
        let wide = seed % 2 == 0;
        let history = random::history(seed, Shape { wide, ..shape });
        let mut files: Vec<Vec<u8>> = Vec::new();
        for format in Format::all() {
            let mut bytes = Vec::new();
            if write(&history, format, &mut bytes).is_ok() {
                files.push(bytes);
            }
        }
        for format in [Format::Cobra, Format::Viper] {
            let logs = write_logs(&history, format).into_iter().flatten();
            files.extend(logs.map(|file| file.1));
        }
        let mut random = Random::new(seed);
        for good in &files {
            for _ in 0..10 {
                let mut bytes = good.clone();
                damage(&mut bytes, &mut random);
                let _ = load(&bytes, None, 1);
                for format in Format::all() {
                    if let Ok(loaded) = load(&bytes, Some(format), 1) {
                        let total: u32 = loaded.history.txns().iter().map(|t| t.op_count).sum();
                        assert_eq!(total as usize, loaded.history.op_count(), "{format}");
                    }
                }
            }
        }
    }
}
