//! States as bytes: compact, canonical, and renamed on the way if symmetry asks for it.
//!
//! Numbers are varints, a list is its length and its elements, an enum its variant and its fields;
//! nothing describes itself. Site, key and transaction names pass through a [`Renaming`]; a map is
//! then sorted again by its encoded keys, so that two states that differ by names only encode
//! alike under the renaming that takes one to the other.
//!
//! Why not a crate: no format of the ecosystem can rename by type while it encodes.

mod decode;
mod encode;

pub(crate) use decode::decode;
pub(crate) use encode::encode;

use std::fmt;

/// What each name becomes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Renaming {
    pub sites: Vec<u8>,
    pub keys: Vec<u8>,
    pub txns: Vec<u8>,
    pub sessions: Vec<u8>,
}

/// A type that cannot be a state, or bytes that are not one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct CodecError(String);

impl fmt::Display for CodecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for CodecError {}

impl serde::ser::Error for CodecError {
    fn custom<T: fmt::Display>(text: T) -> Self {
        CodecError(text.to_string())
    }
}

impl serde::de::Error for CodecError {
    fn custom<T: fmt::Display>(text: T) -> Self {
        CodecError(text.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::{Key, Site, SiteSet, Txn, Version};
    use serde::{Deserialize, Serialize};
    use std::collections::BTreeMap;

    #[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
    enum Shape {
        Unit,
        One(u16),
        Two(i32, Option<bool>),
        Named { text: String, list: Vec<u8> },
    }

    #[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
    struct All {
        shapes: Vec<Shape>,
        map: BTreeMap<Key, (Site, Version)>,
        sites: SiteSet,
        txn: Option<Txn>,
        big: u64,
        negative: i64,
        unit: (),
    }

    fn sample() -> All {
        let list = vec![0, 127, 128, 255];
        let text = "é".to_string();
        All {
            shapes: vec![
                Shape::Unit,
                Shape::One(65535),
                Shape::Two(-5, Some(true)),
                Shape::Two(i32::MIN, None),
                Shape::Named { text, list },
            ],
            map: [
                (Key(0), (Site(1), Version::new(3, Site(0)))),
                (Key(1), (Site(0), Version::INITIAL)),
            ]
            .into(),
            sites: [Site(0)].into_iter().collect(),
            txn: Some(Txn(2)),
            big: u64::MAX,
            negative: i64::MIN,
            unit: (),
        }
    }

    #[test]
    fn what_is_encoded_decodes_to_the_same() {
        let mut bytes = Vec::new();
        encode(&sample(), None, &mut bytes).unwrap();
        assert_eq!(decode::<All>(&bytes).unwrap(), sample());
        for end in 0..bytes.len() {
            assert!(decode::<All>(&bytes[..end]).is_err(), "cut at {end}");
        }
    }

    #[test]
    fn renaming_is_what_encoding_the_renamed_gives() {
        let renaming = Renaming {
            sites: vec![1, 0],
            keys: vec![1, 0],
            txns: vec![0, 2, 1],
            sessions: vec![0, 1],
        };
        let mut renamed = sample();
        renamed.map = [
            (Key(0), (Site(1), Version::INITIAL)),
            (Key(1), (Site(0), Version::new(3, Site(1)))),
        ]
        .into();
        renamed.sites = [Site(1)].into_iter().collect();
        renamed.txn = Some(Txn(1));
        let (mut there, mut here) = (Vec::new(), Vec::new());
        encode(&sample(), Some(&renaming), &mut there).unwrap();
        encode(&renamed, None, &mut here).unwrap();
        assert_eq!(there, here);
    }
}
