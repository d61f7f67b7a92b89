import Mounts
import Testing
import Transfers

/// Tests of the detection of file systems that do not respond.
@Suite struct HangWatchTests {
    private let slow = FileSystemKey(device: "0:40")
    private let other = FileSystemKey(device: "8:1")

    @Test func `B1: A file system counts as silent five seconds after the start of a call`() {
        var watch = HangWatch()
        _ = watch.begin(slow, "/mnt/slow/a", now: 100)
        _ = watch.begin(other, "/data", now: 104)
        #expect(watch.nextDeadline(now: 104) == 105)
        #expect(watch.look(now: 104.9).isEmpty)
        #expect(watch.look(now: 105) == [slow])
        #expect(watch.silence(of: slow, now: 105)?.path == "/mnt/slow/a")
        #expect(watch.silence(of: slow, now: 105)?.since == 100)
        #expect(watch.silence(of: other, now: 105) == nil)
        #expect(watch.look(now: 106).isEmpty, "it is reported once")
        #expect(watch.nextDeadline(now: 106) == 109)
        #expect(watch.look(now: 109) == [other])
        #expect(watch.nextDeadline(now: 109) == nil)
    }

    @Test func `B1: A silent file system responds again when its last overdue call has returned`() {
        var watch = HangWatch()
        let first = watch.begin(slow, "/mnt/slow/a", now: 0)
        let second = watch.begin(slow, "/mnt/slow/b", now: 1)
        let quick = watch.begin(slow, "/mnt/slow/c", now: 7)
        #expect(watch.look(now: 8) == [slow])
        #expect(watch.end(quick, now: 8) == false)
        #expect(watch.end(first, now: 9) == false)
        #expect(watch.silence(of: slow, now: 9)?.path == "/mnt/slow/b")
        #expect(watch.end(second, now: 10) == true)
        #expect(watch.silences(now: 10).isEmpty)
        #expect(watch.end(second, now: 11) == false)
    }

    @Test func `B1: A file system that was silent between two checks is also reported as responding`() {
        var watch = HangWatch()
        let call = watch.begin(slow, "/mnt/slow/a", now: 0)
        #expect(watch.end(call, now: 5.1) == true)
    }

    @Test func `B1: A call that returns in time does not cause a report`() {
        var watch = HangWatch()
        let call = watch.begin(slow, "/mnt/slow/a", now: 0)
        #expect(watch.end(call, now: 4) == false)
        #expect(watch.look(now: 60).isEmpty)
        #expect(watch.nextDeadline(now: 60) == nil)
    }
}

/// Tests of the search for the file system that contains a path.
@Suite struct MountTableTests {
    private let table = MountTable(
        parsing: """
            22 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw
            30 22 8:2 / /home rw - ext4 /dev/sda2 rw
            41 30 0:52 / /home/u/my\\040disk rw,nosuid - fuse.sshfs host: rw
            42 22 0:53 / /mnt/hang rw - fuse.hang hang rw
            43 22 0:54 / /mnt/hang rw - fuse.hang hang rw
            44 22 8:2 /u /srv/u rw - ext4 /dev/sda2 rw
            """)

    private func device(_ path: String, links: [String: String] = [:]) -> String? {
        table.device(following: path, isTrusted: { $0 == "8:1" || $0 == "8:2" }, readLink: { links[$0] })
    }

    @Test func `B1: The longest mount point above a path determines its file system`() {
        #expect(device("/etc/passwd") == "8:1")
        #expect(device("/home/u/file") == "8:2")
        #expect(device("/home/u/my disk/file") == "0:52")
        #expect(device("/mnt/hanging") == "8:1")
        #expect(device("/srv/u/file") == "8:2", "two mounts of one file system are one")
    }

    @Test func `B1: The last file system mounted at a path hides the earlier ones`() {
        #expect(device("/mnt/hang/x") == "0:54")
    }

    @Test func `B1: The watch follows a link only if the file system that contains the link is trusted`() {
        let links = [
            "/home/u/link": "/mnt/hang/deep", "/home/u/relative": "../../mnt/hang", "/home/u/loop": "loop",
            "/mnt/hang/deep": "/etc",
        ]
        #expect(device("/home/u/link/file", links: links) == "0:54", "the link below the mount is not read")
        #expect(device("/home/u/relative/file", links: links) == "0:54")
        #expect(device("/home/u/link/../x", links: links) == "0:54")
        #expect(device("/mnt/hang/../../etc", links: links) == "0:54")
        #expect(device("/home/u/loop/x", links: links) == "8:2")
    }

    @Test func `B1: The watch never reads a mount point as a link`() {
        var asked: [String] = []
        let readLink: (String) -> String? = { path in
            asked.append(path)
            return nil
        }
        _ = table.device(following: "/mnt/hang/a/b", isTrusted: { $0 == "8:1" }, readLink: readLink)
        #expect(asked == ["/mnt"])
    }
}
