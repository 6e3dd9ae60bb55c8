//! All fields that DCGM knows, by number and spelling, so that a misspelt one is told from one that is not served.
//! Holds names only.

/// Number of every field with all its spellings; the newest DCGM's own comes first.
const FIELDS: &str = include_str!("fields.txt");

/// Names that dcgm-exporter adds to DCGM's; they have no number.
const EXPORTERS_OWN: [&str; 6] = [
    "DCGM_EXP_CLOCK_EVENTS_COUNT",
    "DCGM_EXP_CLOCK_EVENTS_TOTAL",
    "DCGM_EXP_GPU_HEALTH_STATUS",
    "DCGM_EXP_P2P_STATUS",
    "DCGM_EXP_XID_ERRORS_COUNT",
    "DCGM_EXP_XID_ERRORS_TOTAL",
];

/// A number that sorts dcgm-exporter's own names behind DCGM's, as it prints them.
const EXPORTERS_OWN_FIRST: u16 = 9000;

/// The field that `name` spells: its number, and the name for as long as the program runs.
pub fn field(name: &str) -> Option<(u16, &'static str)> {
    let own = EXPORTERS_OWN.into_iter().zip(EXPORTERS_OWN_FIRST..);
    let of_exporter = own.map(|(name, id)| (id, name));
    let of_dcgm = lines().flat_map(|(id, names)| names.split(' ').map(move |name| (id, name)));
    of_dcgm.chain(of_exporter).find(|(_, known)| *known == name)
}

fn lines() -> impl Iterator<Item = (u16, &'static str)> {
    FIELDS
        .lines()
        .filter_map(|line| line.split_once(' '))
        .filter_map(|(id, names)| Some((id.parse().ok()?, names)))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn spellings_name_one_field_each() {
        let names: Vec<&str> = lines().flat_map(|(_, names)| names.split(' ')).collect();
        let different: BTreeSet<&&str> = names.iter().collect();
        assert_eq!(names.len(), different.len());
        assert_eq!(
            lines().count(),
            FIELDS.lines().count() - 1,
            "every line but the first"
        );
    }

    #[test]
    fn old_and_new_spellings_are_the_same_field() {
        for (old, new) in [
            ("DCGM_FI_DEV_GPU_TEMP", "DCGM_FI_DEV_GPU_TEMP_CELSIUS"),
            ("DCGM_FI_DEV_POWER_USAGE", "DCGM_FI_DEV_BOARD_POWER_WATTS"),
            ("dcgm_gpu_utilization", "DCGM_FI_DEV_GPU_UTIL_RATIO"),
            ("DCGM_FI_DRIVER_VERSION", "DCGM_FI_SYSTEM_DRIVER_VERSION"),
        ] {
            let (id, known) = field(old).unwrap();
            assert_eq!((known, field(new).unwrap().0), (old, id));
        }
        assert_eq!(field("DCGM_FI_DEV_GPU_TMP"), None);
        assert!(field("DCGM_EXP_XID_ERRORS_COUNT").is_some());
    }
}
