import CDispatch  // needed for stat(2), which the compiler attributes to this module
import CNightshift
import Foundation
import Glibc
import NightshiftAPI
import Store
import Synchronization

extension FolderIdentity {
    /// Reads the folder at `path`; returns nil if that fails.
    init?(path: String) {
        // Opening the folder triggers an automounter, and opening it with `O_PATH` does not. `O_PATH` is used for
        // folders that this user may only write to.
        var descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK)
        if descriptor < 0, errno == EACCES { descriptor = open(path, Self.pathOnly | O_DIRECTORY | O_CLOEXEC) }
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var information = stat()
        guard fstat(descriptor, &information) == 0 else { return nil }
        var id: Int64 = 0
        let type = nightshift_filesystem_identity(descriptor, &id)
        let keepsNumbers = FileStanding.keepsNumbers(type: type) && type != Self.overlay
        self.init(
            type: type, fileSystem: Self.fileSystem(id, type, device: information.st_dev),
            inode: keepsNumbers ? UInt64(information.st_ino) : 0)
    }

    /// Returns the reason why a file cannot go to the folder at `path` now; nil if this path leads to the folder with
    /// this identity.
    func trouble(at path: String) -> TransferFailure? {
        let words: String
        if let now = FolderIdentity(path: path) {
            guard !isSame(as: now) else { return nil }
            words =
                "\(path) is not the folder that it was when the transfer was accepted, or its file system is not "
                + "mounted."
        } else {
            words = "\(path) existed when the transfer was accepted, but cannot be opened now."
        }
        return TransferFailure(
            .destinationUnavailable,
            "\(words) The transfer continues when that folder is back. To use the folder that is there now, run "
                + "'nightshift retry'."
        )
    }

    /// Returns whether both identities may belong to the same folder. A value that only one of the identities has is
    /// not compared.
    func isSame(as other: FolderIdentity) -> Bool {
        guard type == other.type, inode == other.inode || inode == 0 || other.inode == 0 else { return false }
        guard let fileSystem, let others = other.fileSystem, fileSystem.prefix(4) == others.prefix(4) else {
            return true
        }
        return fileSystem == others
    }

    /// Returns the kind of identifier, "uuid" or "fsid", and its value.
    ///
    /// The device number is not used, because it may change after a reboot or when a disk is plugged in again.
    private static func fileSystem(_ id: Int64, _ type: Int64, device: dev_t) -> String? {
        // A major number of 0 never belongs to a disk.
        if device >> 8 & 0xfff != 0, let name = diskName(device) { return "uuid \(name)" }
        guard numberedByUUID.contains(type), id != 0 else { return nil }
        return "fsid " + String(UInt64(bitPattern: id), radix: 16)
    }

    /// Returns the UUID of the file system on a disk, from udev. It is cached for a second, because many files go to
    /// one folder.
    private static func diskName(_ device: dev_t) -> String? {
        let now = ContinuousClock.now
        return diskNames.withLock { names in
            if now - names.since > .seconds(1) { names = ([:], now) }
            if let known = names.byDevice[device] { return known }
            let name = readDiskName(device)
            names.byDevice[device] = .some(name)
            return name
        }
    }

    private static let diskNames = Mutex((byDevice: [dev_t: String?](), since: ContinuousClock.now))

    private static func readDiskName(_ device: dev_t) -> String? {
        let folder = "/dev/disk/by-uuid"
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return names.first { name in
            var information = stat()
            return stat("\(folder)/\(name)", &information) == 0 && information.st_rdev == device
        }
    }

    /// The types of file systems whose f_fsid the kernel derives from their UUID: ext2 to ext4, btrfs and ZFS. The
    /// kernel derives the f_fsid of other file systems from the device.
    private static let numberedByUUID: Set<Int64> = [0xef53, 0x9123_683e, 0x2fc1_2fc1]
    /// The type of overlayfs. A folder there may get another inode number when its first file is created.
    private static let overlay: Int64 = 0x794c_7630
    /// The flag `O_PATH` of open(2).
    private static let pathOnly: Int32 = 0o10_000_000
}
