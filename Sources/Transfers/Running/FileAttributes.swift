import CDispatch  // where it is loaded too, the compiler counts stat(2) as its own
import CNightshift
import Foundation
import Glibc

/// Mode, owner, group, access control list and label of a finished file. All of it blocks.
///
/// A download's bytes come into a private file that often lies elsewhere. Under its name it is to be as if the caller had created it
/// there, or had written into the file that it replaces.
enum FileAttributes {
    /// What a file needs so that its attributes are right.
    enum Need {
        /// Nothing: they are, as far as its file system has them.
        case fitting
        /// To be created in its folder: only there does it get the folder's group.
        case creation
        /// To be written into the file that is there, whose owner or group this user cannot give to another file.
        case ownFile
    }

    /// Gives a file the attributes of one that is created in `folder`.
    ///
    /// - Parameter mode: what the caller's umask leaves of rw-rw-rw-; a default access control list of the folder counts in its place.
    static func apply(ofNewFileIn folder: String, mode: mode_t, to descriptor: Int32) -> Need {
        let hasDefaults = nightshift_has_default_access_list(folder)
        let template = template(in: folder, hasDefaults: hasDefaults)
        guard template >= 0 else {
            fchmod(descriptor, mode)
            return .fitting
        }
        defer { close(template) }
        var (wanted, found) = (stat(), stat())
        guard fstat(template, &wanted) == 0, fstat(descriptor, &found) == 0 else { return .fitting }
        var need = Need.fitting
        if wanted.st_gid != found.st_gid, fchown(descriptor, uid_t.max, wanted.st_gid) != 0 { need = .creation }
        // Before the mode, of which it is a part.
        _ = nightshift_copy_attribute(template, descriptor, accessList)
        fchmod(descriptor, hasDefaults ? wanted.st_mode & 0o777 : mode)
        _ = nightshift_copy_attribute(template, descriptor, label)
        return need
    }

    /// Gives a file the attributes of the one that it replaces; nil where none is there.
    static func apply(of path: String, to descriptor: Int32) -> Need? {
        var (wanted, found) = (stat(), stat())
        guard lstat(path, &wanted) == 0, wanted.st_mode & S_IFMT == S_IFREG else { return nil }
        guard fstat(descriptor, &found) == 0 else { return .fitting }
        if wanted.st_uid != found.st_uid || wanted.st_gid != found.st_gid,
            fchown(descriptor, wanted.st_uid, wanted.st_gid) != 0
        {
            return .ownFile
        }
        let old = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        if old >= 0 {
            _ = nightshift_copy_attribute(old, descriptor, accessList)
            _ = nightshift_copy_attribute(old, descriptor, label)
            close(old)
        }
        // A program that is replaced stays one, but gives nobody its owner's rights.
        fchmod(descriptor, wanted.st_mode & 0o777)
        return .fitting
    }

    /// Makes a folder and those above it that are missing, each with the group and the access control list that a folder made there has;
    /// false where that failed.
    static func makeFolder(_ path: String, mode: mode_t) -> Bool {
        var information = stat()
        if stat(path, &information) == 0 { return information.st_mode & S_IFMT == S_IFDIR }
        let above = (path as NSString).deletingLastPathComponent
        guard errno == ENOENT, !above.isEmpty, above != path, makeFolder(above, mode: mode) else { return false }
        guard mkdir(path, 0o777) == 0 else {
            return errno == EEXIST && stat(path, &information) == 0 && information.st_mode & S_IFMT == S_IFDIR
        }
        // The umask of the service is for its own files.
        if !nightshift_has_default_access_list(above), stat(path, &information) == 0 {
            chmod(path, mode | information.st_mode & S_ISGID)
        }
        return true
    }

    /// A file that is created in `folder` and has no name, or none any longer.
    private static func template(in folder: String, hasDefaults: Bool) -> Int32 {
        let unnamed = nightshift_open_unnamed(folder)
        guard unnamed < 0 else { return unnamed }
        // NFS and FUSE have only files with names. There it is made where it can tell anything.
        var information = stat()
        guard stat(folder, &information) == 0, hasDefaults || information.st_mode & S_ISGID != 0 else { return -1 }
        let path = "\(folder)/.nightshift-\(PartialNames.token()).tmp"
        let named = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o666)
        if named >= 0 { unlink(path) }
        return named
    }

    private static let accessList = "system.posix_acl_access"
    private static let label = "security.selinux"
}
