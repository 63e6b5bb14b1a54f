//! The solver against trying all values.

use program::analysis::{Constraints, Effort, Formula, Linear, Outcome, Variable, solve};

const EFFORT: Effort = Effort {
    contradictions: 10_000,
    until: None,
};

/// A small generator of numbers, the same each time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}

/// Each number lies between 0 and this.
const MOST: i64 = 3;
const NUMBERS: usize = 4;

struct Made {
    constraints: Constraints,
    /// What terms are made of.
    values: Vec<Linear>,
    /// The formulas to choose from.
    formulas: Vec<Formula>,
}

fn term(dice: &mut Dice, values: &[Linear]) -> Linear {
    let mut term = Linear::constant(dice.below(7) as i64 - 3);
    for _ in 0..1 + dice.below(3) {
        let value = &values[dice.below(values.len() as u64) as usize];
        let factor = [1, -1, 1, -1, 2, -3][dice.below(6) as usize];
        term = term.plus(value, factor);
    }
    term
}

/// A formula over what there is.
fn formula(dice: &mut Dice, made: &mut Made) -> Formula {
    let Made {
        constraints,
        values,
        formulas,
    } = made;
    let pick = |dice: &mut Dice| formulas[dice.below(formulas.len() as u64) as usize];
    let choice = if formulas.len() < 4 {
        dice.below(3)
    } else {
        dice.below(8)
    };
    match choice {
        0 => constraints.zero(term(dice, values)),
        1 | 2 => constraints.at_most_zero(term(dice, values)),
        3 => constraints.not(pick(dice)),
        4 => constraints.and([pick(dice), pick(dice), pick(dice)]),
        5 | 6 => constraints.or([pick(dice), pick(dice), pick(dice)]),
        _ => {
            let cases = vec![
                (pick(dice), term(dice, values)),
                (pick(dice), term(dice, values)),
            ];
            let value = constraints.cases(cases, term(dice, values));
            if value.known().is_none() {
                values.push(value.clone());
            }
            constraints.at_most_zero(value.minus(&Linear::constant(1)))
        }
    }
}

fn make(dice: &mut Dice) -> Made {
    let mut made = Made {
        constraints: Constraints::default(),
        values: Vec::new(),
        formulas: Vec::new(),
    };
    let constraints = &mut made.constraints;
    for number in 0..NUMBERS {
        let variable = constraints.number(format!("n{number}"), 10 + number as i64);
        let value = Linear::variable(variable);
        let least = constraints.at_most(&Linear::constant(0), &value);
        let most = constraints.at_most(&value, &Linear::constant(MOST));
        constraints.require(least);
        constraints.require(most);
        made.values.push(value);
    }
    for _ in 0..12 + dice.below(30) {
        let formula = formula(dice, &mut made);
        made.formulas.push(formula);
    }
    for _ in 0..2 + dice.below(5) {
        let at = dice.below(made.formulas.len() as u64) as usize;
        made.constraints.require(made.formulas[at]);
    }
    made
}

/// The values of all variables, those of the free ones given.
fn complete(constraints: &Constraints, free: &[i64]) -> Vec<i64> {
    let mut values: Vec<i64> = Vec::new();
    let mut free = free.iter();
    for meaning in &constraints.variables {
        let value = match &meaning.definition {
            None => free.next().copied().unwrap_or(0),
            Some(definition) => {
                let mut cases = definition.cases.iter();
                let case = cases.find(|(condition, _)| constraints.is(*condition, &values));
                let term = case.map_or(&definition.otherwise, |(_, term)| term);
                term.value(|Variable(at)| values[at as usize])
            }
        };
        values.push(value);
    }
    values
}

fn hold(constraints: &Constraints, values: &[i64]) -> bool {
    let mut all = constraints.required.iter();
    all.all(|formula| constraints.is(*formula, values))
}

#[test]
fn the_solver_agrees_with_trying_all_values() {
    let mut dice = Dice(0x9E37_79B9_7F4A_7C15);
    let (mut yes, mut no) = (0, 0);
    for round in 0..3000 {
        let made = make(&mut dice);
        let constraints = &made.constraints;
        assert!(made.values.len() >= NUMBERS && !made.formulas.is_empty());
        let all = (MOST + 1).pow(NUMBERS as u32);
        let possible = (0..all).any(|code| {
            let digit = |at: u32| code / (MOST + 1).pow(at) % (MOST + 1);
            let free: Vec<i64> = (0..NUMBERS as u32).map(digit).collect();
            hold(constraints, &complete(constraints, &free))
        });
        match solve(constraints, EFFORT) {
            Outcome::Satisfied(values) => {
                assert!(hold(constraints, &values), "round {round}");
                let free: Vec<i64> = values[..NUMBERS].to_vec();
                assert_eq!(complete(constraints, &free), values, "round {round}");
                assert!(possible, "round {round}");
                yes += 1;
            }
            Outcome::Unsatisfied => {
                assert!(!possible, "round {round}");
                no += 1;
            }
            Outcome::Undecided => panic!("round {round} is undecided"),
        }
    }
    assert!(yes > 300 && no > 300, "{yes} and {no}");
}

/// Many things that all differ, in too small a space.
fn pigeons(count: usize, most: i64) -> Constraints {
    let mut constraints = Constraints::default();
    let mut values: Vec<Linear> = Vec::new();
    for number in 0..count {
        let value = Linear::variable(constraints.number(format!("p{number}"), 0));
        let least = constraints.at_most(&Linear::constant(1), &value);
        let most = constraints.at_most(&value, &Linear::constant(most));
        constraints.require(least);
        constraints.require(most);
        for other in &values {
            let equal = constraints.equal(&value, other);
            let differ = constraints.not(equal);
            constraints.require(differ);
        }
        values.push(value);
    }
    constraints
}

#[test]
fn different_values_are_found_where_there_is_room() {
    assert!(matches!(
        solve(&pigeons(5, 5), EFFORT),
        Outcome::Satisfied(_)
    ));
    assert_eq!(solve(&pigeons(5, 4), EFFORT), Outcome::Unsatisfied);
}

#[test]
fn it_stops_when_the_time_is_over() {
    let effort = Effort {
        contradictions: u32::MAX,
        until: Some(std::time::Instant::now()),
    };
    assert_eq!(solve(&pigeons(14, 13), effort), Outcome::Undecided);
}
