import CDispatch  // needed for stat(2), which the compiler attributes to this module
import CNightshift
import Foundation
import Glibc
import NightshiftAPI

/// Checks of a file that a download may replace. All of these checks block.
enum ReplacedFile {
    /// Returns the reason why a download may not use the name `path`. Returns nil if it may, or if it uses the next
    /// free name instead.
    ///
    /// - Parameter overwrite: whether the download replaces a file with this name.
    static func obstacle(at path: String, overwrite: Bool) -> TransferFailure? {
        let resolved: String
        switch resolve(path) {
        case .success(let found): resolved = found
        case .failure(let failure): return failure
        }
        var information = stat()
        guard lstat(resolved, &information) == 0 else { return nil }
        let kind: String? =
            switch information.st_mode & S_IFMT {
            case S_IFREG: nil
            case S_IFDIR: overwrite ? "a directory" : nil
            case S_IFCHR, S_IFBLK: "a device"
            case S_IFIFO: "a FIFO"
            case S_IFSOCK: "a socket"
            default: "not a regular file"
            }
        return kind.map {
            TransferFailure(.destinationUnavailable, "\(path) is \($0). A download does not replace it.")
        }
    }

    /// Returns the path after following all symbolic links of a name, as open(2) would find it. A file need not exist
    /// there.
    ///
    /// Links that the kernel itself would not follow for this user are refused (`protected_symlinks` of
    /// proc_sys_fs(5)). Links in `/proc` are refused as well, because they lead to files of a process: `/dev/stdout`
    /// would be that of the service.
    static func resolve(_ path: String) -> Result<String, TransferFailure> {
        var path = path
        for _ in 0..<mostLinks {
            let folder = (path as NSString).deletingLastPathComponent
            if fileSystemType(folder) == processes {
                return .failure(
                    TransferFailure(
                        .destinationUnavailable, "\(path) is a file of a process. A download cannot be saved there."))
            }
            var information = stat()
            guard lstat(path, &information) == 0, information.st_mode & S_IFMT == S_IFLNK else { return .success(path) }
            guard isTrusted(information, in: folder) else {
                return .failure(
                    TransferFailure(
                        .destinationUnavailable,
                        "\(path) is another user's symbolic link in a folder that all users can write to, so it "
                            + "is not followed."
                    ))
            }
            guard let target = target(of: path) else {
                return .failure(DiskTrouble.failure(errno, "read the symbolic link \(path)"))
            }
            path = target.hasPrefix("/") ? target : "\(folder)/\(target)"
        }
        return .failure(DiskTrouble.failure(ELOOP, "follow \(path)"))
    }

    private static func isTrusted(_ link: stat, in folder: String) -> Bool {
        var above = stat()
        guard stat(folder, &above) == 0 else { return true }
        let isOpenToAll = above.st_mode & (S_ISVTX | S_IWOTH) == S_ISVTX | S_IWOTH
        return !isOpenToAll || link.st_uid == geteuid() || link.st_uid == above.st_uid
    }

    private static func target(of link: String) -> String? {
        var buffer = [UInt8](repeating: 0, count: Int(PATH_MAX))
        let count = buffer.withUnsafeMutableBytes {
            readlink(link, $0.assumingMemoryBound(to: CChar.self).baseAddress!, $0.count)
        }
        return count > 0 ? String(decoding: buffer.prefix(count), as: UTF8.self) : nil
    }

    private static func fileSystemType(_ folder: String) -> Int64 {
        let descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { return -1 }
        defer { close(descriptor) }
        return nightshift_filesystem_type(descriptor)
    }

    /// The highest number of links that the kernel follows (path_resolution(7)).
    private static let mostLinks = 40
    /// The type of the file system proc: `PROC_SUPER_MAGIC` from linux/magic.h.
    private static let processes: Int64 = 0x9fa0
}
