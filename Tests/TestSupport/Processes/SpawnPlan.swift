import Glibc

/// The arguments of `posix_spawn`.
struct SpawnPlan: Sendable {
    /// The program to execute, followed by its arguments.
    var command: [String]
    var environment: [String: String]
    var output: ChildProcess.Output
    var errors: ChildProcess.Output
    var input: Int32?
    var ownGroup: Bool

    func spawn() -> Result<pid_t, SystemError> {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        if let input {
            posix_spawn_file_actions_adddup2(&actions, input, 0)
        } else {
            posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        }
        Self.add(output, as: 1, to: &actions)
        Self.add(errors, as: 2, to: &actions)
        actions.inheritNothingElse()

        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        // Signals that this process ignores or blocks must not affect the child.
        var all = sigset_t()
        sigfillset(&all)
        posix_spawnattr_setsigdefault(&attributes, &all)
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        var flags = POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK
        if ownGroup {
            posix_spawnattr_setpgroup(&attributes, 0)
            flags |= POSIX_SPAWN_SETPGROUP
        }
        posix_spawnattr_setflags(&attributes, Int16(flags))

        var pid: pid_t = 0
        let code = Self.withCStrings(command) { arguments in
            Self.withCStrings(environment.map { "\($0.key)=\($0.value)" }) { environment in
                posix_spawnp(&pid, command[0], &actions, &attributes, arguments, environment)
            }
        }
        return code == 0 ? .success(pid) : .failure(SystemError("posix_spawn \(command[0])", code: code))
    }

    private static func add(
        _ output: ChildProcess.Output, as descriptor: Int32, to actions: inout posix_spawn_file_actions_t
    ) {
        switch output {
        case .inherit: break
        case .discard: posix_spawn_file_actions_addopen(&actions, descriptor, "/dev/null", O_WRONLY, 0)
        case .file(let path):
            posix_spawn_file_actions_addopen(&actions, descriptor, path, O_WRONLY | O_CREAT | O_APPEND, 0o644)
        case .descriptor(let source): posix_spawn_file_actions_adddup2(&actions, source, descriptor)
        }
    }

    private static func withCStrings<Result>(
        _ strings: [String], _ body: (UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> Result
    ) -> Result {
        var pointers = strings.map { strdup($0) } + [nil]
        defer {
            for pointer in pointers { free(pointer) }
        }
        return pointers.withUnsafeMutableBufferPointer { buffer in
            // The array is never empty: it ends with nil.
            body(buffer.baseAddress!)
        }
    }
}

extension posix_spawn_file_actions_t {
    /// Adds the last action, which closes everything except standard input, output and error.
    ///
    /// Foundation opens files without `O_CLOEXEC`. Without this action, a child would keep a file open that another
    /// test is writing.
    package mutating func inheritNothingElse() {
        guard let closeFrom = Self.closeFrom else { preconditionFailure("This C library is older than glibc 2.34.") }
        _ = closeFrom(&self, 3)
    }

    /// The function `posix_spawn_file_actions_addclosefrom_np`. glibc's headers declare it only with `_GNU_SOURCE`,
    /// which Swift's import does not set.
    private static let closeFrom = dlsym(nil, "posix_spawn_file_actions_addclosefrom_np").map {
        unsafeBitCast($0, to: (@convention(c) (UnsafeMutablePointer<posix_spawn_file_actions_t>, Int32) -> Int32).self)
    }
}
