import Glibc
import TestSupport

/// A file system of its own, mounted for one test.
final class Mount: Sendable {
    let path: String
    private let directory: TemporaryDirectory
    private let source: [String]

    /// Memory of so many MiB.
    static func memory(megabytes: Int) async throws -> Mount {
        let mount = try Mount(source: ["-t", "tmpfs", "-o", "size=\(megabytes)M", "nightshift-test"])
        try await mount.mount()
        return mount
    }

    /// An ext4 in an image of so many MiB.
    static func ext4(megabytes: Int) async throws -> Mount {
        try await image(megabytes: megabytes, ["mkfs.ext4", "-q", "-F"])
    }

    /// An XFS, whose files can share their bytes. It cannot be smaller than 300 MiB, of which the image needs few.
    static func xfs() async throws -> Mount {
        try await image(megabytes: 320, ["mkfs.xfs", "-q", "-m", "reflink=1"])
    }

    private static func image(megabytes: Int, _ format: [String]) async throws -> Mount {
        let image = try TemporaryDirectory()
        let mount = try Mount(source: ["-o", "loop", image.path("image")], directory: image)
        let descriptor = open(image.path("image"), O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0, ftruncate(descriptor, off_t(megabytes) << 20) == 0 else {
            throw SystemError("ftruncate \(image.path("image"))")
        }
        close(descriptor)
        try await run(format[0], format.dropFirst() + [image.path("image")])
        try await mount.mount()
        return mount
    }

    private init(source: [String], directory: TemporaryDirectory? = nil) throws {
        self.directory = try directory ?? TemporaryDirectory()
        self.source = source
        path = self.directory.path("mounted")
        guard mkdir(path, 0o755) == 0 else { throw SystemError("mkdir \(path)") }
    }

    deinit {
        // Whatever a failed test has left open keeps the file system, not its name.
        let process = try? ChildProcess("umount", arguments: ["-l", path])
        _ = process?.blockUntilExit(within: .seconds(20))
    }

    func mount() async throws {
        try await Self.run("mount", source + [path])
    }

    func unmount() async throws {
        try await Self.run("umount", [path])
    }

    /// Gives a file system in memory another size.
    func resize(megabytes: Int) async throws {
        try await Self.run("mount", ["-o", "remount,size=\(megabytes)M", path])
    }

    /// Stops an ext4 at once, as a power cut does: nothing that is not on the disk yet, its journal included, gets there.
    func cutPower() throws {
        // Never another file system than the one that is mounted here.
        var (here, above) = (stat(), stat())
        guard stat(path, &here) == 0, stat("\(path)/..", &above) == 0, here.st_dev != above.st_dev else {
            throw SystemError("stat \(path): not mounted", code: EINVAL)
        }
        let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw SystemError("open \(path)") }
        defer { close(descriptor) }
        // EXT4_IOC_SHUTDOWN with EXT4_GOING_FLAGS_NOLOGFLUSH.
        var flags: UInt32 = 2
        guard ioctl(descriptor, 0x8004_587d, &flags) == 0 else { throw SystemError("EXT4_IOC_SHUTDOWN") }
    }

    private static func run(_ program: String, _ arguments: [String]) async throws {
        let outcome = try await ChildProcess.run(program, arguments)
        guard outcome.code == 0 else {
            throw NotPossibleHere(description: "\(program) \(arguments.joined(separator: " ")): \(outcome.errors)")
        }
    }
}
