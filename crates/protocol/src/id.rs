//! The names a model speaks of: sites, keys, transactions, versions, and sets of them.
//!
//! They are types of their own so that an encoded state can be renamed (symmetry) without the
//! model's help: the encoder meets each name by its type.

use serde::ser::SerializeStruct;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

/// The most sites, keys or transactions a setup can have: the width of a set.
pub const MOST: usize = 64;

macro_rules! name {
    ($(#[$doc:meta])* $name:ident, $tag:literal, $set:ident, $letter:literal, $(#[$set_doc:meta])*) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
        pub struct $name(pub u8);

        impl $name {
            /// The place in a list that has one entry for each.
            #[inline]
            pub fn index(self) -> usize {
                usize::from(self.0)
            }

            /// The first `count`, in order.
            pub fn first(count: usize) -> impl Iterator<Item = $name> {
                (0..count.min(MOST) as u8).map($name)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($letter, "{}"), self.0 + 1)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(self, f)
            }
        }

        impl Serialize for $name {
            #[inline]
            fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.serialize_newtype_struct($tag, &self.0)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            #[inline]
            fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                u8::deserialize(from).map($name)
            }
        }

        $(#[$set_doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
        pub struct $set(u64);

        #[allow(dead_code)] // One kind of set uses what another does not.
        impl $set {
            /// Nothing.
            pub const EMPTY: $set = $set(0);

            /// Whether nothing is in it.
            #[inline]
            pub fn is_empty(self) -> bool {
                self.0 == 0
            }

            /// How many are in it.
            pub fn len(self) -> usize {
                self.0.count_ones() as usize
            }

            /// Whether `one` is in it.
            #[inline]
            pub fn contains(self, one: $name) -> bool {
                self.0 & Self::bit(one) != 0
            }

            /// Puts `one` in; says whether it was not there.
            #[inline]
            pub fn insert(&mut self, one: $name) -> bool {
                let new = !self.contains(one);
                self.0 |= Self::bit(one);
                new
            }

            /// Takes `one` out; says whether it was there.
            #[inline]
            pub fn remove(&mut self, one: $name) -> bool {
                let there = self.contains(one);
                self.0 &= !Self::bit(one);
                there
            }

            /// What is in both.
            pub fn intersection(self, other: $set) -> $set {
                $set(self.0 & other.0)
            }

            /// What is in either.
            pub fn union(self, other: $set) -> $set {
                $set(self.0 | other.0)
            }

            /// What is here and not in `other`.
            pub fn without(self, other: $set) -> $set {
                $set(self.0 & !other.0)
            }

            /// All of it, ascending.
            pub fn iter(self) -> impl Iterator<Item = $name> {
                let mut rest = self.0;
                std::iter::from_fn(move || {
                    let next = rest.trailing_zeros();
                    if next == u64::BITS {
                        return None;
                    }
                    rest &= rest - 1;
                    Some($name(next as u8))
                })
            }

            pub(crate) fn bits(self) -> u64 {
                self.0
            }

            pub(crate) fn from_bits(bits: u64) -> Self {
                $set(bits)
            }

            #[inline]
            fn bit(one: $name) -> u64 {
                debug_assert!(one.index() < MOST);
                1 << (one.0 & 63)
            }
        }

        impl FromIterator<$name> for $set {
            fn from_iter<I: IntoIterator<Item = $name>>(all: I) -> Self {
                let mut set = $set::EMPTY;
                for one in all {
                    set.insert(one);
                }
                set
            }
        }

        impl fmt::Debug for $set {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_set().entries(self.iter()).finish()
            }
        }

        impl Serialize for $set {
            #[inline]
            fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.serialize_newtype_struct(stringify!($set), &self.0)
            }
        }

        impl<'de> Deserialize<'de> for $set {
            #[inline]
            fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                u64::deserialize(from).map($set)
            }
        }
    };
}

name!(
    /// A site: a server that stores some keys and executes transactions for its clients.
    Site, "Site", SiteSet, "s",
    /// A set of sites.
);
name!(
    /// A data item.
    Key, "Key", KeySet, "k",
    /// A set of keys.
);
name!(
    /// A transaction of the setup.
    Txn, "Txn", TxnSet, "t",
    /// A set of transactions.
);

/// A version of a key, as a protocol names it: a number, made unique by a site. Compared by
/// number, then by site. Number 0 is the initial version.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Deserialize)]
pub struct Version {
    /// A sequence number, timestamp or counter.
    pub number: u16,
    /// The site that chose the number.
    pub site: Site,
}

impl Version {
    /// What every key holds before anything runs.
    pub const INITIAL: Version = Version {
        number: 0,
        site: Site(0),
    };

    /// The version `number` chosen by `site`.
    pub fn new(number: u16, site: Site) -> Version {
        Version { number, site }
    }

    /// Whether this is the initial version.
    pub fn is_initial(self) -> bool {
        self.number == 0
    }
}

impl Serialize for Version {
    /// The initial version is nobody's, so renaming sites leaves it alone.
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut fields = to.serialize_struct("Version", 2)?;
        fields.serialize_field("number", &self.number)?;
        if self.is_initial() {
            fields.serialize_field("site", &0u8)?;
        } else {
            fields.serialize_field("site", &self.site)?;
        }
        fields.end()
    }
}

impl fmt::Debug for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_initial() {
            write!(f, "initial")
        } else {
            write!(f, "{}.{}", self.number, self.site)
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}
