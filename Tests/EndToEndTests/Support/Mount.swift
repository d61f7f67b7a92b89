import Foundation
import Glibc
import TestSupport

/// A separate file system, mounted for one test.
final class Mount: Sendable {
    let path: String
    private let directory: TemporaryDirectory
    /// The command that mounts the file system, up to the path.
    private let command: [String]

    /// Mounts a file system in memory with this many MiB.
    static func memory(megabytes: Int) async throws -> Mount {
        let mount = try Mount(command: ["mount", "-t", "tmpfs", "-o", "size=\(megabytes)M", "nightshift-test"])
        try await mount.mount()
        return mount
    }

    /// Mounts an ext4 file system in an image of this many MiB.
    static func ext4(megabytes: Int) async throws -> Mount {
        try await image(megabytes: megabytes, ["mkfs.ext4", "-q", "-F"])
    }

    /// Mounts an XFS file system, whose files can share their bytes. Its minimum size is 300 MiB, of which the image
    /// uses few.
    static func xfs() async throws -> Mount {
        try await image(megabytes: 320, ["mkfs.xfs", "-q", "-m", "reflink=1"])
    }

    /// Mounts a file system that behaves unusually in some way.
    static func odd(_ kind: OddFileSystem) async throws -> Mount {
        let folder = try TemporaryDirectory()
        let (lower, upper, work) = (folder.path("lower"), folder.path("upper"), folder.path("work"))
        for path in [lower, upper, work] {
            guard mkdir(path, 0o755) == 0 else { throw SystemError("mkdir \(path)") }
        }
        let layers = "lowerdir=\(lower),upperdir=\(upper),workdir=\(work)"
        switch kind {
        case .ext4: return try await ext4(megabytes: 48)
        case .xfs: return try await xfs()
        case .ntfs3g: return try await image(megabytes: 48, ["mkntfs", "-q", "-F", "-f"], mount: ["ntfs-3g"])
        case .exfat:
            return try await image(megabytes: 48, ["mkfs.exfat"], mount: ["mount", "-t", "exfat-fuse", "-o", "loop"])
        case .vfat: return try await image(megabytes: 48, ["mkfs.vfat"], mount: ["mount", "-t", "vfat", "-o", "loop"])
        case .bindfs: return try await mounted(["bindfs", lower], in: folder)
        case .sshfs:
            // Only the SFTP server runs, because there is no host to log in to.
            return try await mounted(
                ["sshfs", "-o", "ssh_command=\(try sftpServer(in: folder))", "nobody:\(lower)"], in: folder)
        case .overlay:
            return try await mounted(["mount", "-t", "overlay", "-o", layers, "nightshift-test"], in: folder)
        case .fuseOverlay: return try await mounted(["fuse-overlayfs", "-o", layers], in: folder)
        }
    }

    private static func mounted(_ command: [String], in folder: TemporaryDirectory) async throws -> Mount {
        let mount = try Mount(command: command, directory: folder)
        try await mount.mount()
        return mount
    }

    /// Writes a program that replaces ssh and starts the server, whatever its arguments are.
    private static func sftpServer(in folder: TemporaryDirectory) throws -> String {
        let path = folder.path("ssh")
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o755)
        guard descriptor >= 0 else { throw SystemError("open \(path)") }
        defer { close(descriptor) }
        let script = Array("#!/bin/sh\nexec /usr/lib/openssh/sftp-server\n".utf8)
        guard write(descriptor, script, script.count) == script.count else { throw SystemError("write \(path)") }
        return path
    }

    private static func image(megabytes: Int, _ format: [String]) async throws -> Mount {
        try await image(megabytes: megabytes, format, mount: ["mount", "-o", "loop"])
    }

    /// Creates a file system in an image file and mounts it.
    ///
    /// - Parameters:
    ///   - format: the command that creates the file system, up to the image's path.
    ///   - command: the command that mounts the file system, up to that path.
    private static func image(megabytes: Int, _ format: [String], mount command: [String]) async throws -> Mount {
        let image = try TemporaryDirectory()
        let mount = try Mount(command: command + [image.path("image")], directory: image)
        let descriptor = open(image.path("image"), O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0, ftruncate(descriptor, off_t(megabytes) << 20) == 0 else {
            throw SystemError("ftruncate \(image.path("image"))")
        }
        close(descriptor)
        try await run(format[0], format.dropFirst() + [image.path("image")])
        try await mount.mount()
        return mount
    }

    private init(command: [String], directory: TemporaryDirectory? = nil) throws {
        self.directory = try directory ?? TemporaryDirectory()
        self.command = command
        path = self.directory.path("mounted")
        guard mkdir(path, 0o755) == 0 else { throw SystemError("mkdir \(path)") }
    }

    deinit {
        // If a failed test has left files open, the file system stays but loses its name.
        let process = try? ChildProcess("umount", arguments: ["-l", path])
        _ = process?.blockUntilExit(within: .seconds(20))
    }

    func mount() async throws {
        try await Self.run(command[0], command.dropFirst() + [path])
    }

    func unmount() async throws {
        try await Self.run("umount", [path])
    }

    /// Resizes a file system in memory.
    func resize(megabytes: Int) async throws {
        try await Self.run("mount", ["-o", "remount,size=\(megabytes)M", path])
    }

    /// Stops an ext4 file system at once, as a power cut does. Bytes that are not yet on disk, including the journal's,
    /// are lost.
    func cutPower() throws {
        // This must never be a file system other than the one mounted here.
        var (here, above) = (stat(), stat())
        guard stat(path, &here) == 0, stat("\(path)/..", &above) == 0, here.st_dev != above.st_dev else {
            throw SystemError("stat \(path): not mounted", code: EINVAL)
        }
        let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw SystemError("open \(path)") }
        defer { close(descriptor) }
        // The request is EXT4_IOC_SHUTDOWN with EXT4_GOING_FLAGS_NOLOGFLUSH.
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

/// Different kinds of file systems for downloads.
enum OddFileSystem: String, CaseIterable, Sendable {
    case ext4, xfs, ntfs3g, exfat, vfat, bindfs, sshfs, overlay, fuseOverlay

    /// Whether the machine can mount this kind.
    var isPossible: Bool {
        switch self {
        case .ext4: Machine.hasLoopDevices
        case .xfs: Machine.hasReflinks
        case .ntfs3g: Programs.has("mkntfs") && Programs.has("ntfs-3g")
        case .exfat: Machine.hasLoopDevices && Programs.has("mkfs.exfat") && Programs.has("mount.exfat-fuse")
        case .vfat: Machine.hasLoopDevices && Programs.has("mkfs.vfat") && Machine.knows(fileSystem: "vfat")
        case .bindfs: Programs.has("bindfs")
        case .sshfs: Programs.has("sshfs") && FileManager.default.fileExists(atPath: "/usr/lib/openssh/sftp-server")
        case .overlay: Machine.knows(fileSystem: "overlay")
        case .fuseOverlay: Programs.has("fuse-overlayfs")
        }
    }
}
