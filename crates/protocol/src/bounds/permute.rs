//! Renamings, and ways to choose.

/// All orders of the first `count` numbers.
pub(super) fn permutations(count: usize) -> Vec<Vec<usize>> {
    let mut all = vec![Vec::new()];
    for next in 0..count {
        let longer = |order: &Vec<usize>| {
            let order = order.clone();
            (0..=next).map(move |place| {
                let mut order = order.clone();
                order.insert(place, next);
                order
            })
        };
        all = all.iter().flat_map(longer).collect();
    }
    all.sort();
    all
}

/// The ways to choose `taken` of `count`.
pub(super) fn choose(count: usize, taken: usize) -> u128 {
    (0..taken).fold(1, |ways, place| {
        ways * (count - place) as u128 / (place as u128 + 1)
    })
}

/// All choices of `taken` of `from`, in order.
pub(super) fn subsets(from: &[usize], taken: usize) -> Vec<Vec<usize>> {
    let bits = 0u32..1 << from.len();
    bits.filter(|bits| bits.count_ones() as usize == taken)
        .map(|bits| {
            let inside = |place: &usize| bits & (1 << place) != 0;
            (0..from.len()).filter(inside).map(|p| from[p]).collect()
        })
        .collect()
}
