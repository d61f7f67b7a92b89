import Foundation
import Glibc
import TestSupport

/// A FUSE file system over a folder, whose calls hang on command.
final class HangingFileSystem: Sendable {
    /// The calls that can hang.
    enum Call: String, CaseIterable, Sendable {
        /// stat(2) and every look-up of a name.
        case getattr
        case open, write, fsync, rename, statfs
    }

    static let isPossible =
        Machine.canMount && (Programs.has("cc") || Programs.has("clang")) && Programs.has("pkg-config")
        && Programs.has("fusermount3") && access("/dev/fuse", R_OK | W_OK) == 0
        && access("/usr/include/fuse3/fuse.h", R_OK) == 0

    /// The mount point.
    let path: String
    private let directory: TemporaryDirectory
    private let process: ChildProcess
    private let connection: String

    init() async throws {
        directory = try TemporaryDirectory(in: "/tmp")
        for name in ["mounted", "files", "hanging"] { mkdir(directory.path(name), 0o755) }
        path = directory.path("mounted")
        let source = try directory.write(Self.source, to: "hang.c")
        let program = directory.path("hang")
        let built = try await ChildProcess.run(
            "sh",
            [
                "-c",
                "exec $(command -v cc || command -v clang) -O1 -o '\(program)' '\(source)' $(pkg-config --cflags --libs fuse3)",
            ],
            within: .seconds(60))
        guard built.code == 0 else { throw NotPossibleHere(description: built.errors) }
        process = try ChildProcess(
            program, arguments: ["-f", "-o", "max_threads=64", path],
            environment: ["HANG_FILES": directory.path("files"), "HANG_CONTROL": directory.path("hanging")],
            output: .file(directory.path("log")), errors: .file(directory.path("log")))
        let (parent, mounted) = (directory.path, path)
        try await eventually("a mounted file system", within: .seconds(20)) {
            var (here, above) = (stat(), stat())
            return stat(mounted, &here) == 0 && stat(parent, &above) == 0 && here.st_dev != above.st_dev
        }
        var here = stat()
        stat(path, &here)
        connection = "/sys/fs/fuse/connections/\(here.st_dev & 0xff | (here.st_dev >> 12) & ~0xff)"
    }

    deinit {
        for call in Call.allCases { unlink("\(directory.path("hanging"))/\(call.rawValue)") }
        // This ends every call, even calls whose callers were killed.
        if let file = fopen("\(connection)/abort", "w") {
            fputs("1", file)
            fclose(file)
        }
        let unmount = try? ChildProcess("umount", arguments: ["-l", path])
        _ = unmount?.blockUntilExit(within: .seconds(20))
        process.kill(SIGKILL)
    }

    /// Makes every call of that kind hang from now on, until ``answer(_:)``.
    func hang(_ call: Call) throws { try directory.write("", to: "hanging/\(call.rawValue)") }

    func answer(_ call: Call) { unlink(directory.path("hanging/\(call.rawValue)")) }

    /// Returns when a process no longer executes any instruction. The kernel may still have threads of the process.
    static func waitForLastInstruction(of process: ChildProcess) async throws {
        try await eventually("the end of the service", within: .seconds(10)) {
            if process.exit != nil { return true }
            let text = (try? String(contentsOfFile: "/proc/\(process.pid)/stat", encoding: .utf8)) ?? ") Z"
            return text.split(separator: ")").last?.first { $0 != " " } == "Z"
        }
    }

    private static let source = """
        #define FUSE_USE_VERSION 31
        #define _GNU_SOURCE
        #include <dirent.h>
        #include <errno.h>
        #include <fcntl.h>
        #include <fuse.h>
        #include <stdio.h>
        #include <stdlib.h>
        #include <string.h>
        #include <sys/stat.h>
        #include <sys/statvfs.h>
        #include <time.h>
        #include <unistd.h>
        static const char *files, *control;
        static void hang(const char *call) {
            char name[4096];
            snprintf(name, sizeof name, "%s/%s", control, call);
            struct timespec pause = {0, 10000000};
            while (access(name, F_OK) == 0) nanosleep(&pause, NULL);
        }
        #define PLACE(path) char place[4096]; snprintf(place, sizeof place, "%s%s", files, path)
        #define RETURN(value) return (value) < 0 ? -errno : 0
        static int do_getattr(const char *path, struct stat *st, struct fuse_file_info *info) {
            hang("getattr");
            PLACE(path);
            if (info) RETURN(fstat((int)info->fh, st));
            RETURN(lstat(place, st));
        }
        static int do_readdir(const char *path, void *buffer, fuse_fill_dir_t fill, off_t offset,
                              struct fuse_file_info *info, enum fuse_readdir_flags flags) {
            PLACE(path);
            DIR *dir = opendir(place);
            if (!dir) return -errno;
            for (struct dirent *entry; (entry = readdir(dir));) fill(buffer, entry->d_name, NULL, 0, 0);
            closedir(dir);
            return 0;
        }
        static int do_mkdir(const char *path, mode_t mode) { PLACE(path); RETURN(mkdir(place, mode)); }
        static int do_unlink(const char *path) { PLACE(path); RETURN(unlink(place)); }
        static int do_rename(const char *from, const char *to, unsigned flags) {
            hang("rename");
            PLACE(from);
            char target[4096];
            snprintf(target, sizeof target, "%s%s", files, to);
            RETURN(renameat2(AT_FDCWD, place, AT_FDCWD, target, flags));
        }
        static int do_chmod(const char *path, mode_t mode, struct fuse_file_info *info) {
            PLACE(path);
            RETURN(chmod(place, mode));
        }
        static int do_truncate(const char *path, off_t size, struct fuse_file_info *info) {
            PLACE(path);
            RETURN(truncate(place, size));
        }
        static int opened(const char *path, struct fuse_file_info *info, mode_t mode) {
            hang("open");
            PLACE(path);
            int descriptor = open(place, info->flags & ~O_NOFOLLOW, mode);
            if (descriptor < 0) return -errno;
            info->fh = (uint64_t)descriptor;
            return 0;
        }
        static int do_create(const char *path, mode_t mode, struct fuse_file_info *info) {
            return opened(path, info, mode);
        }
        static int do_open(const char *path, struct fuse_file_info *info) { return opened(path, info, 0); }
        static int do_read(const char *path, char *bytes, size_t size, off_t offset, struct fuse_file_info *info) {
            ssize_t count = pread((int)info->fh, bytes, size, offset);
            return count < 0 ? -errno : (int)count;
        }
        static int do_write(const char *path, const char *bytes, size_t size, off_t offset,
                            struct fuse_file_info *info) {
            hang("write");
            ssize_t count = pwrite((int)info->fh, bytes, size, offset);
            return count < 0 ? -errno : (int)count;
        }
        static int do_statfs(const char *path, struct statvfs *st) {
            hang("statfs");
            PLACE(path);
            RETURN(statvfs(place, st));
        }
        static int do_release(const char *path, struct fuse_file_info *info) { close((int)info->fh); return 0; }
        static int do_fsync(const char *path, int data, struct fuse_file_info *info) {
            hang("fsync");
            RETURN(fsync((int)info->fh));
        }
        static void *start(struct fuse_conn_info *connection, struct fuse_config *config) {
            config->entry_timeout = config->attr_timeout = config->negative_timeout = 0;
            config->hard_remove = 1;
            return NULL;
        }
        static const struct fuse_operations operations = {
            .getattr = do_getattr, .readdir = do_readdir, .mkdir = do_mkdir, .unlink = do_unlink, .rename = do_rename,
            .chmod = do_chmod, .truncate = do_truncate, .create = do_create, .open = do_open, .read = do_read,
            .write = do_write, .statfs = do_statfs, .release = do_release, .fsync = do_fsync, .init = start,
        };
        int main(int count, char **words) {
            files = getenv("HANG_FILES");
            control = getenv("HANG_CONTROL");
            return fuse_main(count, words, &operations, NULL);
        }
        """
}
