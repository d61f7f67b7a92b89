import CDispatch  // needed for stat(2), which the compiler attributes to this module
import CNightshift
import Foundation
import Glibc

/// The mode, owner, group, access control list and label of a finished file. All functions block.
///
/// The bytes of a download arrive in a private file, which is often in another folder. Under its final name, the file
/// should look as if the caller had created it there, or had written into the file that it replaces.
enum FileAttributes {
    /// The step that a file needs to get the right attributes.
    enum Need {
        /// No step: the attributes are right, as far as the file system supports them.
        case fitting
        /// The file must be created in its folder, because only there does it get the folder's group.
        case creation
        /// The bytes must be written into the existing file, because this user cannot give its owner or group to
        /// another file.
        case ownFile
    }

    /// New files without a name, one for each folder. Other files get their attributes. They exist as long as this
    /// object.
    final class Templates {
        fileprivate struct Template {
            let hasDefaults: Bool
            /// The descriptor of the new file; -1 if none could be created.
            let descriptor: Int32
        }

        private var templates: [String: Template] = [:]

        deinit {
            for template in templates.values where template.descriptor >= 0 { close(template.descriptor) }
        }

        fileprivate func template(in folder: String) -> Template {
            if let template = templates[folder] { return template }
            let hasDefaults = nightshift_has_default_access_list(folder)
            let template = Template(
                hasDefaults: hasDefaults, descriptor: FileAttributes.template(in: folder, hasDefaults: hasDefaults))
            templates[folder] = template
            return template
        }
    }

    /// Gives a file the attributes of a file that is created in `folder`.
    ///
    /// - Parameter mode: the mode rw-rw-rw- restricted by the caller's umask. A default access control list of the
    ///   folder takes precedence.
    static func apply(
        ofNewFileIn folder: String, mode: mode_t, to descriptor: Int32, from templates: Templates
    ) -> Need {
        let model = templates.template(in: folder)
        let (template, hasDefaults) = (model.descriptor, model.hasDefaults)
        guard template >= 0 else {
            fchmod(descriptor, mode)
            return .fitting
        }
        var (wanted, found) = (stat(), stat())
        guard fstat(template, &wanted) == 0, fstat(descriptor, &found) == 0 else { return .fitting }
        var need = Need.fitting
        if wanted.st_gid != found.st_gid, fchown(descriptor, uid_t.max, wanted.st_gid) != 0 { need = .creation }
        // The list is copied before the mode is set, because the mode is a part of the list.
        _ = nightshift_copy_attribute(template, descriptor, accessList)
        fchmod(descriptor, hasDefaults ? wanted.st_mode & 0o777 : mode)
        _ = nightshift_copy_attribute(template, descriptor, label)
        return need
    }

    /// Gives a file the attributes of the file that it replaces; returns nil if there is no such file.
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
        // A replaced program stays executable, but without set-user-ID and set-group-ID bits.
        fchmod(descriptor, wanted.st_mode & 0o777)
        return .fitting
    }

    /// Creates a folder and its missing parents, each with the group and the access control list that new folders get
    /// there. Returns false after a failure.
    static func makeFolder(_ path: String, mode: mode_t) -> Bool {
        var information = stat()
        if stat(path, &information) == 0 { return information.st_mode & S_IFMT == S_IFDIR }
        let above = (path as NSString).deletingLastPathComponent
        guard errno == ENOENT, !above.isEmpty, above != path, makeFolder(above, mode: mode) else { return false }
        guard mkdir(path, 0o777) == 0 else {
            return errno == EEXIST && stat(path, &information) == 0 && information.st_mode & S_IFMT == S_IFDIR
        }
        // The service's umask applies only to its own files.
        if !nightshift_has_default_access_list(above), stat(path, &information) == 0 {
            chmod(path, mode | information.st_mode & S_ISGID)
        }
        return true
    }

    /// Returns the descriptor of a new file in `folder` that has no name, or no longer has a name.
    fileprivate static func template(in folder: String, hasDefaults: Bool) -> Int32 {
        let unnamed = nightshift_open_unnamed(folder)
        guard unnamed < 0 else { return unnamed }
        // NFS and FUSE support only files with names. Such a file is created only if the folder has attributes to
        // inherit.
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
