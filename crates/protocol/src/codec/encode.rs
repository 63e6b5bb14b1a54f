//! To bytes.

use super::{CodecError, Renaming};
use serde::Serialize;
use serde::ser::{self, Serializer};

/// Appends the bytes of `value` with its names changed.
pub(crate) fn encode<T: Serialize>(
    value: &T,
    renaming: Option<&Renaming>,
    to: &mut Vec<u8>,
) -> Result<(), CodecError> {
    value.serialize(&mut Encoder {
        to,
        renaming,
        table: Table::None,
    })
}

/// Which names the next number is one of, or a set of.
#[derive(Clone, Copy)]
enum Table<'a> {
    None,
    Name(&'a [u8]),
    Set(&'a [u8]),
}

struct Encoder<'a> {
    to: &'a mut Vec<u8>,
    renaming: Option<&'a Renaming>,
    table: Table<'a>,
}

impl Encoder<'_> {
    #[inline]
    fn number(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.to.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.to.push(number as u8);
    }

    fn renamed(&mut self, number: u64) {
        let number = match std::mem::replace(&mut self.table, Table::None) {
            Table::None => number,
            Table::Name(table) => u64::from(table[number as usize]),
            Table::Set(table) => {
                let bits = table.iter().enumerate();
                bits.filter(|(from, _)| number & (1 << from) != 0)
                    .map(|(_, to)| 1u64 << to)
                    .sum()
            }
        };
        self.number(number);
    }
}

fn table_of<'a>(names: &'a Renaming, name: &str) -> Table<'a> {
    match name {
        "Site" => Table::Name(&names.sites),
        "Key" => Table::Name(&names.keys),
        "Txn" => Table::Name(&names.txns),
        "SiteSet" => Table::Set(&names.sites),
        "KeySet" => Table::Set(&names.keys),
        "TxnSet" => Table::Set(&names.txns),
        _ => Table::None,
    }
}

type Done = Result<(), CodecError>;

impl<'a, 'b> Serializer for &'b mut Encoder<'a> {
    type Ok = ();
    type Error = CodecError;
    type SerializeSeq = Self;
    type SerializeTuple = Self;
    type SerializeTupleStruct = Self;
    type SerializeTupleVariant = Self;
    type SerializeMap = MapEncoder<'a, 'b>;
    type SerializeStruct = Self;
    type SerializeStructVariant = Self;

    #[inline]
    fn serialize_bool(self, value: bool) -> Done {
        self.to.push(u8::from(value));
        Ok(())
    }

    fn serialize_i8(self, value: i8) -> Done {
        self.serialize_i64(value.into())
    }

    fn serialize_i16(self, value: i16) -> Done {
        self.serialize_i64(value.into())
    }

    fn serialize_i32(self, value: i32) -> Done {
        self.serialize_i64(value.into())
    }

    fn serialize_i64(self, value: i64) -> Done {
        self.number((value << 1 ^ value >> 63) as u64);
        Ok(())
    }

    #[inline]
    fn serialize_u8(self, value: u8) -> Done {
        self.serialize_u64(value.into())
    }

    #[inline]
    fn serialize_u16(self, value: u16) -> Done {
        self.serialize_u64(value.into())
    }

    #[inline]
    fn serialize_u32(self, value: u32) -> Done {
        self.serialize_u64(value.into())
    }

    #[inline]
    fn serialize_u64(self, value: u64) -> Done {
        if matches!(self.table, Table::None) {
            self.number(value);
        } else {
            self.renamed(value);
        }
        Ok(())
    }

    fn serialize_f32(self, value: f32) -> Done {
        self.serialize_f64(value.into())
    }

    fn serialize_f64(self, value: f64) -> Done {
        self.to.extend(value.to_bits().to_le_bytes());
        Ok(())
    }

    fn serialize_char(self, value: char) -> Done {
        self.number(u64::from(u32::from(value)));
        Ok(())
    }

    fn serialize_str(self, value: &str) -> Done {
        self.serialize_bytes(value.as_bytes())
    }

    fn serialize_bytes(self, value: &[u8]) -> Done {
        self.number(value.len() as u64);
        self.to.extend(value);
        Ok(())
    }

    #[inline]
    fn serialize_none(self) -> Done {
        self.to.push(0);
        Ok(())
    }

    #[inline]
    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Done {
        self.to.push(1);
        value.serialize(self)
    }

    fn serialize_unit(self) -> Done {
        Ok(())
    }

    fn serialize_unit_struct(self, _name: &'static str) -> Done {
        Ok(())
    }

    #[inline]
    fn serialize_unit_variant(
        self,
        _name: &'static str,
        index: u32,
        _variant: &'static str,
    ) -> Done {
        self.number(index.into());
        Ok(())
    }

    #[inline]
    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        value: &T,
    ) -> Done {
        let Some(names) = self.renaming else {
            return value.serialize(self);
        };
        let table = table_of(names, name);
        value.serialize(&mut Encoder {
            table,
            to: self.to,
            renaming: self.renaming,
        })
    }

    #[inline]
    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        index: u32,
        _variant: &'static str,
        value: &T,
    ) -> Done {
        self.number(index.into());
        value.serialize(self)
    }

    #[inline]
    fn serialize_seq(self, length: Option<usize>) -> Result<Self, CodecError> {
        self.number(known(length)?);
        Ok(self)
    }

    #[inline]
    fn serialize_tuple(self, _length: usize) -> Result<Self, CodecError> {
        Ok(self)
    }

    fn serialize_tuple_struct(
        self,
        _name: &'static str,
        _length: usize,
    ) -> Result<Self, CodecError> {
        Ok(self)
    }

    #[inline]
    fn serialize_tuple_variant(
        self,
        _name: &'static str,
        index: u32,
        _variant: &'static str,
        _length: usize,
    ) -> Result<Self, CodecError> {
        self.number(index.into());
        Ok(self)
    }

    #[inline]
    fn serialize_map(self, length: Option<usize>) -> Result<MapEncoder<'a, 'b>, CodecError> {
        self.number(known(length)?);
        Ok(MapEncoder {
            entries: self.to.len(),
            starts: Vec::new(),
            encoder: self,
        })
    }

    #[inline]
    fn serialize_struct(self, _name: &'static str, _length: usize) -> Result<Self, CodecError> {
        Ok(self)
    }

    #[inline]
    fn serialize_struct_variant(
        self,
        _name: &'static str,
        index: u32,
        _variant: &'static str,
        _length: usize,
    ) -> Result<Self, CodecError> {
        self.number(index.into());
        Ok(self)
    }

    fn is_human_readable(&self) -> bool {
        false
    }
}

fn known(length: Option<usize>) -> Result<u64, CodecError> {
    length
        .map(|length| length as u64)
        .ok_or_else(|| ser::Error::custom("a list or map of unknown length cannot be a state"))
}

/// Entries of a map, sorted again where names change.
struct MapEncoder<'a, 'b> {
    encoder: &'b mut Encoder<'a>,
    entries: usize,
    starts: Vec<usize>,
}

impl ser::SerializeMap for MapEncoder<'_, '_> {
    type Ok = ();
    type Error = CodecError;

    #[inline]
    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Done {
        if self.encoder.renaming.is_some() {
            self.starts.push(self.encoder.to.len());
        }
        key.serialize(&mut *self.encoder)
    }

    #[inline]
    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Done {
        value.serialize(&mut *self.encoder)
    }

    fn end(self) -> Done {
        if self.starts.len() > 1 {
            let bytes = self.encoder.to.split_off(self.entries);
            let ends = self.starts[1..].iter().copied();
            let ends = ends.chain([self.entries + bytes.len()]);
            let mut entries: Vec<&[u8]> = self
                .starts
                .iter()
                .zip(ends)
                .map(|(start, end)| &bytes[start - self.entries..end - self.entries])
                .collect();
            entries.sort_unstable();
            for entry in entries {
                self.encoder.to.extend(entry);
            }
        }
        Ok(())
    }
}

macro_rules! each_in_order {
    ($($trait:ident, $method:ident);* $(;)?) => {
        $(impl ser::$trait for &mut Encoder<'_> {
            type Ok = ();
            type Error = CodecError;

            #[inline]
            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Done {
                value.serialize(&mut **self)
            }

            fn end(self) -> Done {
                Ok(())
            }
        })*
    };
}

each_in_order! {
    SerializeSeq, serialize_element;
    SerializeTuple, serialize_element;
    SerializeTupleStruct, serialize_field;
    SerializeTupleVariant, serialize_field;
}

macro_rules! fields_in_order {
    ($($trait:ident),*) => {
        $(impl ser::$trait for &mut Encoder<'_> {
            type Ok = ();
            type Error = CodecError;

            #[inline]
            fn serialize_field<T: Serialize + ?Sized>(&mut self, _name: &'static str, value: &T) -> Done {
                value.serialize(&mut **self)
            }

            fn end(self) -> Done {
                Ok(())
            }
        })*
    };
}

fields_in_order!(SerializeStruct, SerializeStructVariant);
