//! Numbers with a fraction or an exponent, so that equal ones are the same value.
//!
//! Exact, by the digits: 2.0 and 2e0 are the integer 2, 1.50 is 1.5, and numbers that differ in any
//! digit stay different. Cost: the length of the number.

use crate::Value;

/// No more digits than this make an integer of 127 bits.
const INT_DIGITS_MAX: usize = 38;
/// Beyond so many digits an exponent is written instead of zeros.
const DIGITS_MAX: usize = 40;

/// The value of a number in EDN or JSON; none if the token is anything else, such as a symbol, a ratio or
/// an integer that is too large to be one here.
pub(super) fn value(token: &str) -> Option<Value> {
    let token = token.strip_suffix('M').unwrap_or(token);
    let (sign, unsigned) = match token.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", token.strip_prefix('+').unwrap_or(token)),
    };
    let (number, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((number, exponent)) => (number, exponent.parse::<i32>().ok()?),
        None => (unsigned, 0),
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !is_digits(whole) || !is_digits(fraction) {
        return None;
    }
    let all = format!("{whole}{fraction}");
    let digits = all.trim_end_matches('0');
    let zeros = i64::try_from(all.len() - digits.len()).ok()?;
    let scale = i64::from(exponent) - i64::try_from(fraction.len()).ok()? + zeros;
    let digits = digits.trim_start_matches('0');
    if digits.is_empty() {
        return Some(Value::Int(0));
    }
    Some(match usize::try_from(scale) {
        Ok(scale) if digits.len() + scale <= INT_DIGITS_MAX => {
            Value::Int(format!("{sign}{digits}{:0<scale$}", "").parse().ok()?)
        }
        Ok(_) if all.len() == unsigned.len() => return None,
        Ok(scale) if digits.len() + scale <= DIGITS_MAX => {
            Value::from(format!("{sign}{digits}{:0<scale$}", "").as_str())
        }
        Ok(scale) => Value::from(format!("{sign}{digits}e{scale}").as_str()),
        Err(_) => {
            let places = usize::try_from(-scale).ok()?;
            let text = match digits.len().checked_sub(places) {
                Some(0) => format!("{sign}0.{digits}"),
                Some(whole) => format!("{sign}{}.{}", &digits[..whole], &digits[whole..]),
                None if places <= DIGITS_MAX => format!("{sign}0.{digits:0>places$}"),
                None => format!("{sign}{digits}e{scale}"),
            };
            Value::from(text.as_str())
        }
    })
}

#[cfg(test)]
mod tests {
    use super::value;
    use crate::Value;

    #[test]
    fn equal_numbers_are_the_same_value_and_others_are_not() {
        let same: [(&[&str], Value); 9] = [
            (
                &["2.0", "2.", "2e0", "+2.00", "0.2E1", "20e-1", "2.0M"],
                Value::Int(2),
            ),
            (&["0.0", "-0.0", "0e9"], Value::Int(0)),
            (&["1e2", "100.0"], Value::Int(100)),
            (&["-12.50", "-1.25e1", "-12.5M"], Value::from("-12.5")),
            (&["0.5", "5e-1", "00.50"], Value::from("0.5")),
            (&["0.0625", "625e-4"], Value::from("0.0625")),
            (&["1e300", "10e299", "1.0e300"], Value::from("1e300")),
            (&["1e-300", "0.1e-299"], Value::from("1e-300")),
            (
                &["1e39", "10.0e38"],
                Value::from("1000000000000000000000000000000000000000"),
            ),
        ];
        for (tokens, expected) in same {
            for token in tokens {
                assert_eq!(value(token), Some(expected.clone()), "{token}");
            }
        }
        // The same double, but not the same number.
        assert_ne!(value("9007199254740993.5"), value("9007199254740993.4"));
        for token in [
            "1/2",
            "-",
            "+foo",
            "1e",
            "1e99999999999",
            "1.5.5",
            ".5",
            "-x1",
            "12a",
            "170141183460469231731687303715884105728",
        ] {
            assert_eq!(value(token), None, "{token}");
        }
    }
}
