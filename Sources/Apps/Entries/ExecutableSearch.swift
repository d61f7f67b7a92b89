import CDispatch  // where it is loaded too, the compiler counts stat(2) as its own
import Glibc
import Mounts

/// Finds programs as a shell does: by their path, or by their name in the folders of `PATH`.
struct ExecutableSearch: Sendable {
    private let folders: [Substring]
    private let fileSystems: FileSystems

    /// What exec(3) takes where there is no `PATH`.
    private static let usual = "/usr/local/bin:/usr/bin:/bin"

    init(environment: [String: String], fileSystems: FileSystems) {
        self.fileSystems = fileSystems
        folders = (environment["PATH"] ?? Self.usual).split(separator: ":")
    }

    /// The outcome of a search.
    enum Found: Hashable {
        case program(String)
        case nothing
        /// The file system of this path does not answer.
        case silence(String)
    }

    /// The absolute path of a program that may be executed.
    func find(_ program: String) -> Found {
        if program.hasPrefix("/") { return find(at: program) }
        guard !program.isEmpty, !program.contains("/") else { return .nothing }
        for folder in folders where folder.hasPrefix("/") {
            let found = find(at: "\(folder)/\(program)")
            if found != .nothing { return found }
        }
        return .nothing
    }

    private func find(at path: String) -> Found {
        guard let isExecutable = fileSystems.answer(path, { Self.isExecutable(path) }) else { return .silence(path) }
        return isExecutable ? .program(path) : .nothing
    }

    /// The program of ``find(_:)``; nil as well when its file system does not answer.
    func path(of program: String) -> String? {
        if case .program(let path) = find(program) { path } else { nil }
    }

    /// Whether the file at `path`, symbolic links followed, runs what others have written: which app a process is of
    /// cannot be told from it.
    func isInterpreter(_ path: String) -> Bool {
        let name = String((resolved(path) ?? path).split(separator: "/").last ?? "")
        // Versions are part of many names: python3.11, perl5.36, lua5.4.
        return Self.interpreters.contains(String(name.prefix { !$0.isNumber }))
    }

    private static let interpreters: Set = [
        "sh", "bash", "dash", "zsh", "ksh", "fish", "busybox", "env", "python", "pypy", "perl", "ruby", "node",
        "nodejs", "deno", "bun", "java", "lua", "luajit", "php", "mono", "dotnet", "guile", "tclsh", "wish", "gjs",
        "electron",
        "flatpak", "snap", "bwrap", "swift",
    ]

    /// The path without symbolic links; nil where there is nothing, and where its file system does not answer.
    func resolved(_ path: String) -> String? {
        fileSystems.answer(path) { () -> String? in
            guard let pointer = realpath(path, nil) else { return nil }
            defer { free(pointer) }
            return String(cString: pointer)
        } ?? nil
    }

    /// The file that a path leads to; nil as with ``resolved(_:)``.
    func identity(of path: String) -> FileIdentity? {
        fileSystems.answer(path) { FileIdentity(of: path) } ?? nil
    }

    private static func isExecutable(_ path: String) -> Bool {
        var information = stat()
        return stat(path, &information) == 0 && information.st_mode & S_IFMT == S_IFREG && access(path, X_OK) == 0
    }
}

/// Which file a path leads to.
struct FileIdentity: Hashable, Sendable {
    let device: UInt64
    let inode: UInt64

    /// Follows symbolic links; nil where there is nothing.
    init?(of path: String) {
        var information = stat()
        guard stat(path, &information) == 0 else { return nil }
        device = UInt64(information.st_dev)
        inode = UInt64(information.st_ino)
    }
}
