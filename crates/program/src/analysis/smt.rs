//! Constraints as text for any SMT solver (SMT-LIB 2, linear arithmetic of whole numbers).

use super::constraint::{Constraints, Formula, Linear, Node, Variable};
use std::fmt::Write;

impl Constraints {
    /// The whole as an SMT-LIB 2 script that asks whether there are values.
    pub fn to_smt(&self) -> String {
        let mut out = String::from("(set-logic QF_LIA)\n");
        for (index, meaning) in self.variables.iter().enumerate() {
            let name = name(Variable(index as u32));
            let _ = writeln!(out, "(declare-const {name} Int) ; {}", meaning.name);
            if meaning.truth {
                let _ = writeln!(out, "(assert (and (<= 0 {name}) (<= {name} 1)))");
            }
        }
        for (formula, node) in self.nodes() {
            let (word, inner) = match node {
                Node::And(inner) => ("and", inner),
                Node::Or(inner) => ("or", inner),
                _ => continue,
            };
            let inner: Vec<String> = inner.iter().map(|one| self.smt(*one)).collect();
            let shared = shared(formula);
            let _ = writeln!(
                out,
                "(define-fun {shared} () Bool ({word} {}))",
                inner.join(" ")
            );
        }
        for (index, meaning) in self.variables.iter().enumerate() {
            let Some(definition) = &meaning.definition else {
                continue;
            };
            let mut value = term(&definition.otherwise);
            for (condition, case) in definition.cases.iter().rev() {
                value = format!("(ite {} {} {value})", self.smt(*condition), term(case));
            }
            let name = name(Variable(index as u32));
            let _ = writeln!(out, "(assert (= {name} {value}))");
        }
        for formula in &self.required {
            let _ = writeln!(out, "(assert {})", self.smt(*formula));
        }
        out.push_str("(check-sat)\n");
        out
    }

    fn smt(&self, formula: Formula) -> String {
        match self.node(formula) {
            Node::True => "true".to_string(),
            Node::False => "false".to_string(),
            Node::Zero(value) => format!("(= {} 0)", term(value)),
            Node::AtMostZero(value) => format!("(<= {} 0)", term(value)),
            // Defined before, since the inside of a formula is older than the formula.
            Node::And(_) | Node::Or(_) => shared(formula),
            Node::Not(inner) => format!("(not {})", self.smt(*inner)),
        }
    }
}

fn shared(formula: Formula) -> String {
    format!("f{}", formula.number())
}

fn name(variable: Variable) -> String {
    format!("v{}", variable.0)
}

fn number(value: i64) -> String {
    match value < 0 {
        true => format!("(- {})", value.unsigned_abs()),
        false => value.to_string(),
    }
}

fn term(term: &Linear) -> String {
    let mut parts: Vec<String> = Vec::new();
    for (variable, factor) in &term.terms {
        parts.push(match factor {
            1 => name(*variable),
            _ => format!("(* {} {})", number(*factor), name(*variable)),
        });
    }
    if term.constant != 0 || parts.is_empty() {
        parts.push(number(term.constant));
    }
    match parts.as_slice() {
        [one] => one.clone(),
        _ => format!("(+ {})", parts.join(" ")),
    }
}
