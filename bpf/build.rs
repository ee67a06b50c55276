// SPDX-License-Identifier: GPL-3.0-or-later
//! Compiles libbpf and libelf into one static archive, and every program in `c/` into an object that the crate embeds.
//!
//! Wants clang and nothing else: no make, no configure, no headers of kernel, libbpf, libelf or zlib on the machine.
//! The sources are those inside the package libbpf-sys, which without features builds nothing and only asks the
//! linker for elf, z and bpf.
//!
//! Environment: `CLANG`, `LLVM_STRIP`, and those of the cc crate (`CC_<target>`, `AR_<target>`, `CFLAGS_<target>`).

#[path = "native/pack.rs"]
mod pack;

use kmote_core::modules::MODULES;
use kmote_core::share;
use std::env;
use std::error::Error;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn main() -> Result<()> {
    announce_inputs()?;
    let out = PathBuf::from(variable("OUT_DIR")?);
    let sources = libbpf_sys()?;
    let clang = tool("CLANG", "clang").ok_or("clang is missing: install it, or name it in $CLANG")?;
    compile_libraries(&clang, &sources, &out)?;
    let programs = compile_programs(&clang, &sources, &out)?;
    write_objects(&programs, &out)
}

/// Tells cargo what a new build depends on, because the cc crate's own messages are off.
fn announce_inputs() -> Result<()> {
    let target = variable("TARGET")?;
    for path in ["build.rs", "c", "native"] {
        println!("cargo::rerun-if-changed={path}");
    }
    for name in ["CLANG", "LLVM_STRIP"] {
        println!("cargo::rerun-if-env-changed={name}");
    }
    for kind in ["CC", "AR", "CFLAGS"] {
        for name in names_for_target(kind, &target) {
            println!("cargo::rerun-if-env-changed={name}");
        }
    }
    Ok(())
}

/// The variables in which the cc crate looks for a tool of this target.
fn names_for_target(kind: &str, target: &str) -> [String; 4] {
    let underscored = target.replace('-', "_");
    [format!("{kind}_{target}"), format!("{kind}_{underscored}"), format!("TARGET_{kind}"), kind.to_owned()]
}

fn variable(name: &str) -> Result<String> {
    env::var(name).map_err(|error| format!("${name}: {error}").into())
}

/// The tool that the variable names, else the first of `<name>-19` and `<name>` that starts.
fn tool(variable: &str, name: &str) -> Option<OsString> {
    let starts =
        |tool: &OsString| Command::new(tool).arg("--version").output().is_ok_and(|run| run.status.success());
    env::var_os(variable).or_else(|| [format!("{name}-19").into(), name.into()].into_iter().find(starts))
}

/// The unpacked package libbpf-sys. Only cargo knows where it is: in the registry's cache or in a vendored tree.
fn libbpf_sys() -> Result<PathBuf> {
    let metadata = cargo_metadata(&["--offline"]).or_else(|_| cargo_metadata(&[]))?;
    let package = metadata
        .split(r#""manifest_path":""#)
        .filter_map(|rest| Path::new(rest.split('"').next()?).parent())
        .find(|directory| directory.join("libbpf/src/libbpf.c").is_file());
    Ok(package.ok_or("cargo metadata names no package with libbpf's sources")?.to_owned())
}

fn cargo_metadata(options: &[&str]) -> Result<String> {
    let manifest = Path::new(&variable("CARGO_MANIFEST_DIR")?).join("Cargo.toml");
    let output = Command::new(variable("CARGO")?)
        .args(["metadata", "--format-version=1", "--filter-platform", &variable("TARGET")?])
        .arg("--manifest-path")
        .arg(manifest)
        .args(options)
        .output()?;
    let text =
        if output.status.success() { output.stdout } else { return Err(text_of(output.stderr)?.into()) };
    text_of(text)
}

fn text_of(bytes: Vec<u8>) -> Result<String> {
    Ok(String::from_utf8(bytes)?)
}

/// Builds libbpf.a with libelf inside, and empty libelf.a and libz.a: libbpf-sys asks for elf, z and bpf in this order,
/// and a linker that reads its archives once would not go back from libbpf to libelf.
fn compile_libraries(clang: &OsStr, sources: &Path, out: &Path) -> Result<()> {
    let mut objects = Vec::new();
    objects.extend(compile_libelf(clang, sources, out)?);
    objects.extend(compile_libbpf(clang, sources, out)?);
    c_compiler(clang, sources)?.objects(objects).out_dir(out).try_compile("bpf")?;
    for empty in ["libelf.a", "libz.a"] {
        fs::write(out.join(empty), "!<arch>\n")?;
    }
    println!("cargo::rustc-link-search=native={}", out.display());
    Ok(())
}

fn compile_libelf(clang: &OsStr, sources: &Path, out: &Path) -> Result<Vec<PathBuf>> {
    let libelf = sources.join("elfutils/libelf");
    let objects = c_compiler(clang, sources)?
        .define("HAVE_CONFIG_H", None)
        .include("native")
        .include(&libelf)
        .include(sources.join("elfutils/lib"))
        .files(files(&libelf, ".c")?.into_iter().filter(|file| is_wanted(file)))
        .file("native/no_zlib.c")
        .out_dir(out.join("elf"))
        .try_compile_intermediates()?;
    Ok(objects)
}

fn compile_libbpf(clang: &OsStr, sources: &Path, out: &Path) -> Result<Vec<PathBuf>> {
    let libbpf = sources.join("libbpf");
    let mut compiler = c_compiler(clang, sources)?;
    compiler
        .include("native")
        .include(libbpf.join("include"))
        .include(libbpf.join("include/uapi"))
        .include(libbpf.join("src"))
        .include(sources.join("elfutils/libelf"))
        .out_dir(out.join("bpf"));
    // With the prototypes that <stdio.h> gives these names.
    for name in ["sprintf", "snprintf", "vsnprintf", "sscanf", "fscanf", "fprintf", "vfprintf"] {
        compiler.define(name, format!("small_{name}").as_str());
    }
    // This one wants strerror_r as POSIX has it, for which it must be the first to include a header.
    let (first, others): (Vec<_>, Vec<_>) = files(&libbpf.join("src"), ".c")?
        .into_iter()
        .filter(|file| is_wanted(file))
        .partition(|file| file.ends_with("libbpf_utils.c"));
    let stand_ins = ["native/absent.c", "native/stdio.c"];
    let mut objects = compiler.clone().files(stand_ins).try_compile_intermediates()?;
    // Under another name nobody calls it.
    objects
        .extend(compiler.clone().define("libbpf_sha256", "unused").files(first).try_compile_intermediates()?);
    compiler.flag("-include").flag("native/quiet.h").files(others);
    objects.extend(compiler.try_compile_intermediates()?);
    Ok(objects)
}

/// Whether the file is compiled; `native/no_zlib.c` and `native/absent.c` stand in for the others.
fn is_wanted(file: &Path) -> bool {
    let zlib = ["elf_compress.c", "elf_compress_gnu.c"];
    let absent = ["usdt.c", "elf.c", "zip.c", "gen_loader.c", "relo_core.c", "btf_relocate.c"];
    zlib.iter().chain(&absent).all(|left_out| !file.ends_with(left_out))
}

/// A compiler set for size: the linker drops what nobody calls, and nothing unwinds through C.
fn c_compiler(clang: &OsStr, sources: &Path) -> Result<cc::Build> {
    let mut build = cc::Build::new();
    if !names_for_target("CC", &variable("TARGET")?).iter().any(|name| env::var_os(name).is_some()) {
        build.compiler(Path::new(clang));
    }
    build
        .cargo_metadata(false)
        .warnings(false)
        .debug(false)
        .opt_level_str("z")
        .std("gnu99")
        // What an assertion says when it fails takes printf along, 11 KB.
        .define("NDEBUG", None)
        .define("_GNU_SOURCE", None)
        .define("_LARGEFILE64_SOURCE", None)
        .define("_FILE_OFFSET_BITS", "64")
        .flag("-U_FORTIFY_SOURCE")
        .flag("-fno-stack-protector")
        .flag("-fno-unwind-tables")
        .flag("-fno-asynchronous-unwind-tables")
        .flag(format!("-ffile-prefix-map={}=libbpf-sys", sources.display()));
    Ok(build)
}

/// Every `c/<stem>.bpf.c` becomes `<stem>.bpf.o`, and perhaps a variant; returns the objects, sorted.
fn compile_programs(clang: &OsStr, sources: &Path, out: &Path) -> Result<Vec<PathBuf>> {
    let headers = out.join("include");
    copy_bpf_headers(&sources.join("libbpf/src"), &headers.join("bpf"))?;
    let strip = tool("LLVM_STRIP", "llvm-strip");
    let mut objects = Vec::new();
    for source in files(Path::new("c"), ".bpf.c")? {
        let name = source.file_name().and_then(OsStr::to_str).and_then(|name| name.strip_suffix(".bpf.c"));
        let name = name.ok_or("a program's name is not UTF-8")?;
        for (variant, definitions) in variants(name) {
            let object = out.join(format!("{variant}.bpf.o"));
            let mut compiler = bpf_compiler(clang, sources, &headers)?;
            run(compiler.args(definitions).arg(&source).arg("-o").arg(&object))?;
            refuse_relocations(&object)?;
            if let Some(strip) = &strip {
                strip_object(strip, &object)?;
            }
            objects.push(object);
        }
    }
    Ok(objects)
}

/// The objects that are made of a source, each with the definitions that make it so. A module that is drawn for groups
/// of processes has a second one, `<name>.apps`, which also books every count on the process that did it: where nobody
/// asks for groups, the programs are those that do not know of them.
fn variants(name: &str) -> Vec<(String, Vec<String>)> {
    let counters = format!("-DPROCESS_COUNTERS={}", share::words(MODULES) - share::HEADER);
    let mut variants = vec![(name.to_owned(), vec![counters.clone()])];
    let module = MODULES.iter().find(|module| module.name == name);
    if let Some((module, place)) = module.zip(share::place(MODULES, name)) {
        let slots = format!("-DSHARED_SLOTS={}", module.shared_slots());
        let definitions = vec!["-DATTRIBUTE".to_owned(), format!("-DPLACE={place}"), slots, counters];
        variants.push((format!("{name}.apps"), definitions));
    }
    variants
}

/// Takes the DWARF away, and of the BTF what only CO-RE relocations and the verifier's messages are made of. The types
/// stay: the loader and the contract test read them.
fn strip_object(strip: &OsStr, object: &Path) -> Result<()> {
    let sections = ["--remove-section=.llvm_addrsig", "--remove-section=.BTF.ext"];
    run(Command::new(strip).arg("--strip-debug").args(sections).arg(object))
}

/// Fails if the object asks for CO-RE relocations: each makes libbpf read the whole BTF of the kernel, which old kernels
/// do not have, and `native/absent.c` stands in for the code. Their length is the last field of the header of .BTF.ext
/// (`struct btf_ext_header`: magic, version, flags, length 32, …); that of .BTF is shorter.
fn refuse_relocations(object: &Path) -> Result<()> {
    let begins = |header: &&[u8]| {
        header.starts_with(&[0x9f, 0xeb, 1, 0, 32, 0, 0, 0])
            || header.starts_with(&[0xeb, 0x9f, 1, 0, 0, 0, 0, 32])
    };
    match fs::read(object)?.windows(32).find(begins) {
        Some(header) if header.ends_with(&[0; 4]) => Ok(()),
        Some(_) => Err(format!("{}: CO-RE relocations are not supported", object.display()).into()),
        None => Err(format!("{}: no BTF: does clang know -g for BPF?", object.display()).into()),
    }
}

/// Programs include `<bpf/bpf_helpers.h>`; the package has these headers among libbpf's sources.
fn copy_bpf_headers(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for header in files(from, ".h")? {
        fs::copy(&header, to.join(header.file_name().unwrap_or_default()))?;
    }
    Ok(())
}

/// v1 is the instruction set that the oldest kernels know; see the README's floor.
fn bpf_compiler(clang: &OsStr, sources: &Path, headers: &Path) -> Result<Command> {
    let endian = if variable("CARGO_CFG_TARGET_ENDIAN")? == "big" { "bpfeb" } else { "bpfel" };
    let mut command = Command::new(clang);
    command
        .args([
            "-target",
            endian,
            "-mcpu=v1",
            "-g",
            "-O2",
            "-Wall",
            "-Werror",
            "-nostdlibinc",
            "-fno-builtin",
            "-c",
        ])
        .arg(format!("-D__TARGET_ARCH_{}", kernel_architecture(&variable("CARGO_CFG_TARGET_ARCH")?)))
        .args(["-Ic", "-isystem", "native/bpf", "-isystem"])
        .arg(headers)
        .arg("-isystem")
        .arg(sources.join("libbpf/include/uapi"))
        // BTF names its source files and quotes them if it finds them: here it does not, and the bytes are the same
        // wherever the tree lies.
        .arg("-fdebug-compilation-dir=kmote")
        .arg(format!("-ffile-prefix-map={}=.", headers.display()))
        .arg(format!("-ffile-prefix-map={}=libbpf-sys", sources.display()));
    Ok(command)
}

/// The kernel's name of an architecture, which `<bpf/bpf_tracing.h>` asks for.
fn kernel_architecture(rust: &str) -> &str {
    match rust {
        "x86_64" | "x86" => "x86",
        "aarch64" => "arm64",
        "riscv64" | "riscv32" => "riscv",
        "mips" | "mips64" => "mips",
        "powerpc" | "powerpc64" => "powerpc",
        "loongarch64" => "loongarch",
        other => other,
    }
}

/// Packs the objects into one, and writes the table of them that the crate includes.
fn write_objects(objects: &[PathBuf], out: &Path) -> Result<()> {
    let (mut all, mut table) = (Vec::new(), String::new());
    for object in objects {
        let stem = object.file_name().and_then(OsStr::to_str).and_then(|name| name.strip_suffix(".bpf.o"));
        let stem = stem.ok_or("a program's name is not UTF-8")?;
        let begin = all.len();
        all.extend(fs::read(object)?);
        table += &format!("    ({stem:?}, {begin}, {}),\n", all.len());
    }
    let packed = out.join("objects.packed");
    fs::write(&packed, pack::pack(&all))?;
    let text = format!(
        "static PACKED: &[u8] = include_bytes!({packed:?});\n\nstatic PLACES: &[(&str, usize, usize)] = &[\n{table}];\n"
    );
    Ok(fs::write(out.join("objects.rs"), text)?)
}

/// The files of a directory that end so, sorted: the same archive whatever the file system's order.
fn files(directory: &Path, ending: &str) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).map_err(|error| format!("{}: {error}", directory.display()))? {
        let path = entry?.path();
        if path.file_name().and_then(OsStr::to_str).is_some_and(|name| name.ends_with(ending)) {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

fn run(command: &mut Command) -> Result<()> {
    let status = command.status().map_err(|error| format!("{command:?}: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("{command:?}: {status}").into()) }
}
