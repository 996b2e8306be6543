//! B-02: the digest names the content and nothing else. B-04: archives stay inside their bounds.

use std::collections::BTreeMap;

use bytes::Bytes;
use ostiary_canon::Digest;
use ostiary_contract::{Bundle, Code, Files, Problems};
use proptest::prelude::*;
use tar::{Builder, EntryType, Header};

/// An archive whose entries come in a given order with given modes, owners and times.
fn archive(entries: &[(&str, &[u8])], mode: u32, mtime: u64, directories: bool) -> Vec<u8> {
    let mut builder = Builder::new(Vec::new());
    for (path, bytes) in entries {
        if directories && let Some((directory, _)) = path.rsplit_once('/') {
            let mut header = Header::new_ustar();
            header.set_entry_type(EntryType::Directory);
            header.set_size(0);
            builder.append_data(&mut header, format!("{directory}/"), &[][..]).expect("in memory");
        }
        let mut header = Header::new_gnu();
        header.set_mode(mode);
        header.set_mtime(mtime);
        header.set_uid(mtime % 1000);
        header.set_size(bytes.len() as u64);
        builder.append_data(&mut header, path, *bytes).expect("in memory");
    }
    builder.into_inner().expect("in memory")
}

fn files() -> impl Strategy<Value = BTreeMap<String, Vec<u8>>> {
    let path = proptest::string::string_regex("[a-z]{1,8}(/[a-zé]{1,8}){0,2}\\.(yaml|json)").expect("an expression");
    proptest::collection::btree_map(path, proptest::collection::vec(any::<u8>(), 0..64), 1..8)
}

fn to_files(map: &BTreeMap<String, Vec<u8>>) -> Files {
    map.iter().map(|(path, bytes)| (path.clone(), Bytes::from(bytes.clone()))).collect()
}

proptest! {
    #[test]
    fn order_packing_clock_and_permissions_do_not_matter(
        map in files(), seed in any::<u64>(), mode in 0_u32..0o777, mtime in 0_u64..1 << 32, directories in any::<bool>(),
    ) {
        let mut entries: Vec<(&str, &[u8])> = map.iter().map(|(p, b)| (p.as_str(), b.as_slice())).collect();
        let turn = usize::try_from(seed % entries.len() as u64).expect("small");
        entries.rotate_left(turn);
        if seed & 1 == 1 {
            entries.reverse();
        }
        let unpacked = Bundle::unpack(&archive(&entries, mode, mtime, directories)).expect("honest archive");
        prop_assert_eq!(Bundle::digest_of(&unpacked), Bundle::digest_of(&to_files(&map)));
    }

    #[test]
    fn any_byte_of_any_file_matters(map in files(), file in any::<prop::sample::Index>(), at in any::<prop::sample::Index>()) {
        let before = Bundle::digest_of(&to_files(&map));
        let mut changed = map.clone();
        let path = file.get(&map.keys().collect::<Vec<_>>()).to_string();
        let bytes = changed.get_mut(&path).expect("chosen from the map");
        if bytes.is_empty() {
            bytes.push(0);
        } else {
            let n = at.index(bytes.len());
            bytes[n] ^= 1;
        }
        prop_assert_ne!(Bundle::digest_of(&to_files(&changed)), before);
    }

    #[test]
    fn a_name_or_a_border_between_files_matters(map in files()) {
        let before = Bundle::digest_of(&to_files(&map));
        let mut renamed = map.clone();
        let (path, bytes) = renamed.pop_first().expect("at least one");
        renamed.insert(format!("x{path}"), bytes);
        prop_assert_ne!(Bundle::digest_of(&to_files(&renamed)), before);
        let mut more = map.clone();
        more.insert("zz-empty.yaml".into(), Vec::new());
        prop_assert_ne!(Bundle::digest_of(&to_files(&more)), before);
    }

    #[test]
    fn random_bytes_are_refused_or_read_but_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..2048)) {
        let _ = Bundle::unpack(&bytes);
        let mut files = Files::new();
        for path in ["contract.yaml", "agent-card.json", "cases/negative/x.yaml", "skills.yaml", "coverage.yaml"] {
            files.insert(path.into(), Bytes::from(bytes.clone()));
        }
        prop_assert!(Bundle::load(&files).is_err());
    }

    #[test]
    fn text_that_is_nearly_yaml_never_panics(text in "[a-z:{}\\[\\]&*!<|>\"'#%@,? \n-]{0,200}") {
        let mut files = Files::new();
        for path in ["contract.yaml", "a2a-task-machine.yaml", "errors.yaml", "operations.yaml", "drift.yaml"] {
            files.insert(path.into(), Bytes::from(text.clone()));
        }
        prop_assert!(Bundle::load(&files).is_err());
        prop_assert!(ostiary_contract::Environment::parse("e.yaml", text.as_bytes()).is_err());
    }
}

#[test]
fn the_rule_of_the_digest_can_be_recomputed_by_hand() {
    let files =
        Files::from([("b.json".into(), Bytes::from_static(b"{}")), ("a.yaml".into(), Bytes::from_static(b"x"))]);
    let object = format!("{{\"a.yaml\":\"{}\",\"b.json\":\"{}\"}}", Digest::of(b"x"), Digest::of(b"{}"));
    assert_eq!(Bundle::digest_of(&files), Digest::of(object.as_bytes()));
}

#[track_caller]
fn refused(found: Result<Files, Problems>) -> Vec<(Code, String)> {
    found.expect_err("refused").0.into_iter().map(|p| (p.code, p.file)).collect()
}

/// One entry with a raw name, as no honest packer writes it.
fn raw_entry(kind: EntryType, name: &str, link: Option<&str>) -> Vec<u8> {
    let mut builder = Builder::new(Vec::new());
    let mut header = Header::new_ustar();
    header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
    header.set_entry_type(kind);
    header.set_size(0);
    header.set_mode(0o644);
    if let Some(link) = link {
        header.as_old_mut().linkname[..link.len()].copy_from_slice(link.as_bytes());
    }
    header.set_cksum();
    builder.append(&header, &[][..]).expect("in memory");
    builder.into_inner().expect("in memory")
}

#[test]
fn archives_that_reach_outside_or_carry_other_than_files_are_refused() {
    for name in ["../contract.yaml", "cases/../../x.yaml", "/etc/passwd", "a\\b.yaml"] {
        let codes = refused(Bundle::unpack(&raw_entry(EntryType::Regular, name, None)));
        assert_eq!(codes[0].0, Code::PathRefused, "{name}");
    }
    let kinds = [
        (EntryType::Symlink, Code::SymbolicLink),
        (EntryType::Link, Code::HardLink),
        (EntryType::Char, Code::NotRegularFile),
        (EntryType::Block, Code::NotRegularFile),
        (EntryType::Fifo, Code::NotRegularFile),
    ];
    for (kind, code) in kinds {
        let found = refused(Bundle::unpack(&raw_entry(kind, "contract.yaml", Some("/etc/passwd"))));
        assert_eq!(found, [(code, "contract.yaml".to_owned())]);
    }
    assert_eq!(refused(Bundle::unpack(&raw_entry(EntryType::Directory, "../out/", None)))[0].0, Code::PathRefused);
}

#[test]
fn truncated_empty_and_repeated_archives_are_refused() {
    let whole = archive(&[("contract.yaml", &[b'x'; 2000]), ("a.yaml", b"y")], 0o644, 0, false);
    assert!(Bundle::unpack(&whole).is_ok());
    assert_eq!(refused(Bundle::unpack(&whole[..1400]))[0].0, Code::ArchiveMalformed);
    assert_eq!(refused(Bundle::unpack(b""))[0].0, Code::ArchiveMalformed);
    assert_eq!(refused(Bundle::unpack(&[0x1f; 700]))[0].0, Code::ArchiveMalformed);
    let twice = archive(&[("a.yaml", b"1"), ("a.yaml", b"2")], 0o644, 0, false);
    assert_eq!(refused(Bundle::unpack(&twice)), [(Code::DuplicateFile, "a.yaml".to_owned())]);
}

#[test]
fn a_header_that_lies_about_its_size_is_refused() {
    let mut lying = archive(&[("a.yaml", b"1")], 0o644, 0, false);
    let mut header = Header::new_gnu();
    header.set_path("a.yaml").expect("short");
    header.set_entry_type(EntryType::Regular);
    header.set_mode(0o644);
    header.set_size(u64::MAX / 4);
    header.set_cksum();
    lying[..512].copy_from_slice(header.as_bytes());
    assert_eq!(refused(Bundle::unpack(&lying))[0].0, Code::ArchiveMalformed);
}

#[test]
fn too_many_files_and_too_large_ones_are_refused() {
    let many: Files = (0..=ostiary_contract::bundle::FILES).map(|n| (format!("f{n}.yaml"), Bytes::new())).collect();
    let codes: Vec<Code> = Bundle::load(&many).expect_err("too many").0.into_iter().map(|p| p.code).collect();
    assert_eq!(codes, [Code::TooManyFiles]);
    let big = vec![b' '; ostiary_contract::bundle::FILE_BYTES + 1];
    let codes = refused(Bundle::unpack(&archive(&[("a.json", &big)], 0o644, 0, false)));
    assert_eq!(codes, [(Code::FileTooLarge, "a.json".to_owned())]);
}

#[test]
fn a_bundle_packed_and_unpacked_is_the_same_and_packing_is_stable() {
    let files = Files::from([
        ("contract.yaml".into(), Bytes::from_static(CONTRACT.as_bytes())),
        ("mcp-tools.snapshot.json".into(), Bytes::from_static(b"[]")),
        (format!("fixtures/{}.json", "long".repeat(40)), Bytes::from_static(b"{}")),
    ]);
    let bundle = Bundle::load(&files).unwrap_or_else(|p| panic!("{p}"));
    let again = Bundle::from_tar(&bundle.to_tar()).unwrap_or_else(|p| panic!("{p}"));
    assert_eq!(again, bundle);
    assert_eq!(again.to_tar(), bundle.to_tar());
}

const CONTRACT: &str = "contract_bundle:\n  contract_id: c\n  contract_version: 1.0.0\n  producer: {agent_id: a}\n  \
                        declarations: {mcp_tools: mcp-tools.snapshot.json}\n";
