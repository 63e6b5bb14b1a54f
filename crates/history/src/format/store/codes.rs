//! The codes of Fressian that need a name.

/// 32 places of the priority cache.
pub(super) const PRIORITY_CACHE_PACKED: u8 = 0x80;
/// 16 places of the struct cache.
pub(super) const STRUCT_CACHE_PACKED: u8 = 0xa0;
/// The first of the arrays: of longs, doubles, booleans, ints, floats, objects.
pub(super) const LONG_ARRAY: u8 = 0xb0;
/// The last of the arrays.
pub(super) const OBJECT_ARRAY: u8 = 0xb5;
/// The first of the tags with a code of their own.
pub(super) const MAP: u8 = 0xc0;
/// A set.
pub(super) const SET: u8 = 0xc1;
/// A UUID, of bytes.
pub(super) const UUID: u8 = 0xc3;
/// A regular expression, of a text.
pub(super) const REGEX: u8 = 0xc4;
/// A URI, of a text.
pub(super) const URI: u8 = 0xc5;
/// An integer of any size, of bytes.
pub(super) const BIGINT: u8 = 0xc6;
/// A decimal number, of bytes and a scale.
pub(super) const BIGDEC: u8 = 0xc7;
/// A date, of milliseconds.
pub(super) const INST: u8 = 0xc8;
/// A symbol, of namespace and name.
pub(super) const SYM: u8 = 0xc9;
/// A keyword, of namespace and name; the last of the tags with a code.
pub(super) const KEY: u8 = 0xca;
/// A place of the priority cache follows.
pub(super) const GET_PRIORITY_CACHE: u8 = 0xcc;
/// A value that goes into the priority cache follows.
pub(super) const PUT_PRIORITY_CACHE: u8 = 0xcd;
/// The end of a part with a checksum.
pub(super) const FOOTER: u8 = 0xcf;
/// Bytes of length 0 to 7.
pub(super) const BYTES_PACKED: u8 = 0xd0;
/// Bytes that others continue.
pub(super) const BYTES_CHUNK: u8 = 0xd8;
/// Bytes, the last of their kind.
pub(super) const BYTES: u8 = 0xd9;
/// A text of length 0 to 7.
pub(super) const STRING_PACKED: u8 = 0xda;
/// A text that others continue.
pub(super) const STRING_CHUNK: u8 = 0xe2;
/// A text, the last of its kind.
pub(super) const STRING: u8 = 0xe3;
/// A list of length 0 to 7.
pub(super) const LIST_PACKED: u8 = 0xe4;
/// A list.
pub(super) const LIST: u8 = 0xec;
/// A list up to its closing code.
pub(super) const CLOSED_LIST: u8 = 0xed;
/// A list up to its closing code or the end.
pub(super) const OPEN_LIST: u8 = 0xee;
/// A new tag, its number of fields, and the fields.
pub(super) const STRUCT_TYPE: u8 = 0xef;
/// A place of the struct cache follows.
pub(super) const STRUCT: u8 = 0xf0;
/// True.
pub(super) const TRUE: u8 = 0xf5;
/// False.
pub(super) const FALSE: u8 = 0xf6;
/// Nil.
pub(super) const NULL: u8 = 0xf7;
/// An integer of 64 bits.
pub(super) const INT: u8 = 0xf8;
/// A number of 32 bits.
pub(super) const FLOAT: u8 = 0xf9;
/// A number of 64 bits.
pub(super) const DOUBLE: u8 = 0xfa;
/// 0.0.
pub(super) const DOUBLE_0: u8 = 0xfb;
/// 1.0.
pub(super) const DOUBLE_1: u8 = 0xfc;
/// The end of a closed or open list.
pub(super) const END_COLLECTION: u8 = 0xfd;
/// Empties both caches.
pub(super) const RESET_CACHES: u8 = 0xfe;
