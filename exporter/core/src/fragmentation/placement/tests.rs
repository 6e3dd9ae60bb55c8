//! Against listings of real boards, and against a search through every legal layout of every known board that knows
//! nothing of slices as bits.

use proptest::prelude::*;

use super::*;
use crate::{
    device::Placed,
    mig::{
        boards::{A30, ALL, H100_80, RTX_PRO_6000},
        profile::Board,
    },
};

/// Indices of profiles and their starts.
type Lay = Vec<(usize, u32)>;

fn layout(board: &Board, lay: &[(usize, u32)]) -> Layout {
    let placed = |(id, (profile, start)): (usize, &(usize, u32))| Placed {
        id: u32::try_from(id).unwrap(),
        profile: board.profiles[*profile].id,
        span: Span {
            start: *start,
            size: board.profiles[*profile].size,
        },
    };
    Layout {
        profiles: board
            .profiles
            .iter()
            .map(crate::mig::profile::Profile::listed)
            .collect(),
        instances: lay.iter().enumerate().map(placed).collect(),
    }
}

fn named(board: &Board, text: &str) -> Layout {
    let one = |word: &str| {
        let (name, start) = word.split_once('@').unwrap();
        let index = board.profiles.iter().position(|p| p.name == name).unwrap();
        (index, start.parse().unwrap())
    };
    layout(board, &text.split_whitespace().map(one).collect::<Lay>())
}

/// 1g, 1g double, 2g, 3g, 4g and 7g as they fit now and after compaction; free and stranded slices; ratio.
fn told(text: &str) -> (Vec<u32>, Vec<u32>, Free, Free, f64) {
    let found = placeable(&named(&H100_80, text)).unwrap();
    let shapes = found
        .profiles
        .iter()
        .filter(|fit| !fit.profile.ends_with("+me"));
    let (now, compacted) = shapes.map(|fit| (fit.now, fit.compacted)).unzip();
    (now, compacted, found.memory, found.compute, found.ratio)
}

fn free(free: u32, stranded: u32) -> Free {
    Free { free, stranded }
}

#[test]
fn instances_removed_out_of_order_strand_what_could_fit() {
    // kubernetes-sigs/dra-driver-nvidia-gpu#933: a real listing of an H100.
    let (now, compacted, memory, compute, ratio) = told("1g.10gb@0 1g.10gb@1 1g.10gb@5");
    assert_eq!(now, [4, 2, 1, 0, 0, 0]);
    assert_eq!(compacted, [4, 2, 2, 1, 1, 0]);
    assert_eq!((memory, compute), (free(5, 0), free(4, 0)));
    // Shapes that fit after compaction: 1g 4 of 4, double 2 of 2, 2g 1 of 2, 3g 0 of 1, 4g 0 of 1.
    assert!(
        (ratio - (0.0 + 0.0 + 0.5 + 1.0 + 1.0) / 5.0).abs() < 1e-12,
        "{ratio}"
    );
}

#[test]
fn one_instance_in_the_wrong_place_costs_the_large_profiles() {
    let (now, compacted, memory, ..) = told("1g.10gb@3");
    assert_eq!(now, [6, 3, 2, 1, 0, 0]);
    assert_eq!(compacted, [6, 3, 3, 1, 1, 0]);
    assert_eq!(memory, free(7, 0));
    let (now, compacted, memory, ..) = told("2g.20gb@2");
    assert_eq!(now, [5, 3, 2, 1, 0, 0]);
    assert_eq!(compacted, [5, 3, 2, 1, 1, 0]);
    assert_eq!(memory, free(6, 0));
}

#[test]
fn a_full_board_is_not_fragmented_and_may_strand_compute() {
    // NVIDIA/DCGM#138: a real listing.
    let (now, _, memory, compute, ratio) = told("3g.40gb@4 2g.20gb@0 1g.10gb@2 1g.10gb@3");
    assert_eq!((now, memory, compute), (vec![0; 6], free(0, 0), free(0, 0)));
    assert!(ratio.abs() < 1e-12);
    let (now, compacted, memory, compute, ratio) = told("3g.40gb@0 3g.40gb@4");
    assert_eq!((now, compacted), (vec![0; 6], vec![0; 6]));
    assert_eq!((memory, compute), (free(0, 0), free(1, 1)));
    assert!(ratio.abs() < 1e-12);
    let (.., compute, _) = told("1g.20gb@0 1g.20gb@2 1g.20gb@4 1g.20gb@6");
    assert_eq!(compute, free(3, 3));
}

#[test]
fn an_empty_board_takes_as_many_as_the_driver_says() {
    for (name, board) in ALL {
        let found = placeable(&layout(board, &[])).unwrap();
        for (fit, profile) in found.profiles.iter().zip(board.profiles) {
            assert_eq!(
                (fit.now, fit.compacted),
                (profile.max, profile.max),
                "{name} {}",
                fit.profile
            );
        }
        assert!(found.ratio.abs() < 1e-12, "{name}");
        assert_eq!(found.memory, free(board.grid, 0), "{name}");
        assert_eq!(found.compute, free(board.slices, 0), "{name}");
    }
}

#[test]
fn the_last_memory_slice_alone_is_stranded() {
    let seven = "1g.10gb@0 1g.10gb@1 1g.10gb@2 1g.10gb@3 1g.10gb@4 1g.10gb@5 1g.10gb@6";
    let (now, _, memory, compute, ratio) = told(seven);
    assert_eq!((now, memory, compute), (vec![0; 6], free(1, 1), free(0, 0)));
    assert!(ratio.abs() < 1e-12);
}

#[test]
fn tables_that_contradict_themselves_give_nothing() {
    let mut twice = named(&H100_80, "1g.10gb@0");
    twice.instances.push(twice.instances[0]);
    assert_eq!(placeable(&twice), None);
    let mut unknown = named(&H100_80, "1g.10gb@0");
    unknown.instances[0].profile = 77;
    assert_eq!(placeable(&unknown), None);
    let mut far = named(&H100_80, "1g.10gb@0");
    far.instances[0].span.start = u32::MAX;
    assert_eq!(placeable(&far), None);
    let mut wide = named(&H100_80, "");
    wide.profiles[0].placements[0].start = u32::MAX;
    assert_eq!(placeable(&wide), None);
    assert_eq!(placeable(&Layout::default()), None);
}

/// Whether the driver would allow `profile` at `start` beside `lay`.
fn fits(board: &Board, lay: &Lay, profile: usize, start: u32) -> bool {
    let wanted = &board.profiles[profile];
    let apart = |(other, at): &(usize, u32)| {
        start + wanted.size <= *at || at + board.profiles[*other].size <= start
    };
    let same = lay.iter().filter(|(other, _)| *other == profile).count();
    lay.iter().all(apart) && same < wanted.max as usize
}

/// Every legal layout, each once, instances in order of profile and start.
fn all_layouts(board: &Board) -> Vec<Lay> {
    let places: Lay = (board.profiles.iter().enumerate())
        .flat_map(|(index, profile)| profile.starts.iter().map(move |start| (index, *start)))
        .collect();
    let mut found = Vec::new();
    let mut open = vec![(Lay::new(), 0)];
    while let Some((lay, next)) = open.pop() {
        for (after, (profile, start)) in places.iter().enumerate().skip(next) {
            if fits(board, &lay, *profile, *start) {
                let mut more = lay.clone();
                more.push((*profile, *start));
                open.push((more, after + 1));
            }
        }
        found.push(lay);
    }
    found
}

/// Number of instances by profile.
fn counts(board: &Board, lay: &Lay) -> Vec<u32> {
    let of = |index| lay.iter().filter(|(profile, _)| *profile == index).count();
    (0..board.profiles.len())
        .map(|index| u32::try_from(of(index)).unwrap())
        .collect()
}

/// The board without the profiles that differ from another only in their engines: they multiply the layouts and fit
/// where the other one fits.
fn plain(board: &'static Board) -> Board {
    let plain = board
        .profiles
        .iter()
        .filter(|p| !p.name.contains(['+', '-']));
    Board {
        profiles: Box::leak(plain.copied().collect()),
        ..*board
    }
}

/// By brute force: for each layout, the most of each profile in any legal layout that keeps the present instances
/// where they are, or only keeps their number.
fn agrees_with_the_search(name: &str, board: &Board) {
    let layouts = all_layouts(board);
    let numbers: Vec<Vec<u32>> = layouts.iter().map(|lay| counts(board, lay)).collect();
    let mut best: std::collections::BTreeMap<&Vec<u32>, Vec<u32>> =
        std::collections::BTreeMap::new();
    for own in &numbers {
        best.entry(own).or_insert_with(|| {
            let mut most = vec![0; own.len()];
            for other in &numbers {
                if own.iter().zip(other).all(|(own, other)| own <= other) {
                    for (most, (own, other)) in most.iter_mut().zip(own.iter().zip(other)) {
                        *most = (*most).max(other - own);
                    }
                }
            }
            most
        });
    }
    for (lay, own) in layouts.iter().zip(&numbers) {
        let found = placeable(&layout(board, lay)).unwrap();
        for (index, fit) in found.profiles.iter().enumerate() {
            let now = most_beside(board, lay, index, 0);
            assert_eq!(fit.now, now, "{name} {lay:?} {}", fit.profile);
            let compacted = best[own][index];
            assert_eq!(fit.compacted, compacted, "{name} {lay:?} {}", fit.profile);
            assert!(fit.now <= fit.compacted);
        }
        assert!((0.0..=1.0).contains(&found.ratio), "{name} {lay:?}");
    }
}

/// How many instances of a profile can be put beside `lay`, trying every order.
fn most_beside(board: &Board, lay: &Lay, profile: usize, from: usize) -> u32 {
    let starts = board.profiles[profile].starts;
    let with = |index: usize| {
        let mut more = lay.clone();
        more.push((profile, starts[index]));
        1 + most_beside(board, &more, profile, index + 1)
    };
    (from..starts.len())
        .filter(|index| fits(board, lay, profile, starts[*index]))
        .map(with)
        .max()
        .unwrap_or(0)
}

#[test]
fn every_layout_of_every_board_agrees_with_a_search() {
    for (name, board) in ALL {
        agrees_with_the_search(name, &plain(board));
    }
    agrees_with_the_search("A30 with engines", &A30);
}

#[test]
fn maximal_layouts_are_as_many_as_is_known() {
    let maximal = |board: &Board, skip: &str| {
        let profiles = board.profiles.iter().filter(|p| p.name != skip);
        let board = Board {
            profiles: Box::leak(profiles.copied().collect()),
            ..*board
        };
        let full = |lay: &&Lay| {
            let mut places = (board.profiles.iter().enumerate())
                .flat_map(|(index, p)| p.starts.iter().map(move |start| (index, *start)));
            places.all(|(profile, start)| !fits(&board, lay, profile, start))
        };
        all_layouts(&board).iter().filter(full).count()
    };
    assert_eq!(maximal(&plain(&H100_80), "1g.20gb"), 19);
    assert_eq!(maximal(&plain(&H100_80), ""), 78);
    assert_eq!(maximal(&plain(&A30), ""), 5);
    assert_eq!(maximal(&plain(&RTX_PRO_6000), ""), 5);
}

proptest! {
    /// Filling a board in any order: what is said to fit now does fit, and nothing more.
    #[test]
    fn what_is_said_to_fit_fits(board in 0..ALL.len(), picks in proptest::collection::vec(any::<usize>(), 0..9)) {
        let (_, board) = ALL[board];
        let mut lay = Lay::new();
        for pick in picks {
            let mut places = Lay::new();
            for (index, profile) in board.profiles.iter().enumerate() {
                let starts = profile.starts.iter().filter(|start| fits(board, &lay, index, **start));
                places.extend(starts.map(|start| (index, *start)));
            }
            let found = placeable(&layout(board, &lay)).unwrap();
            for (index, fit) in found.profiles.iter().enumerate() {
                prop_assert_eq!(fit.now > 0, places.iter().any(|(profile, _)| *profile == index));
            }
            prop_assert_eq!(found.memory.free == found.memory.stranded, places.is_empty());
            if places.is_empty() {
                break;
            }
            lay.push(places[pick % places.len()]);
        }
    }
}
