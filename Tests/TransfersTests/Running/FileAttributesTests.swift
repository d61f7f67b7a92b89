import CDispatch  // This import is needed for stat(2), which the compiler attributes to this module.
import Foundation
import Glibc
import NightshiftAPI
import Store
import TestSupport
import Testing

@testable import Transfers

/// Tests of the attributes of finished files, and of existing files with the same name.
@Suite struct FileAttributesTests {
    private let directory: TemporaryDirectory
    private let publisher: Publisher
    private let downloads: String
    private static let content = Array("what was written".utf8)

    init() throws {
        directory = try TemporaryDirectory()
        let paths = ServicePaths(
            environment: ["NIGHTSHIFT_HOME": directory.path("home")], homeDirectory: URL(filePath: "/"))
        downloads = directory.path("downloads")
        for path in [paths.state, paths.partials, paths.files].map(\.path) + [downloads] {
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        }
        publisher = Publisher(paths: paths, partials: PartialStorage(paths: paths), mode: 0o644)
    }

    /// Publishes a new download.
    @discardableResult
    private func publish(_ destination: Destination) throws -> Publisher.Outcome {
        var request = TaskRequest(url: "http://example.org/f")
        request.destination = destination
        var record = TaskRecord(
            session: .terminal, origin: "", state: .finishing, priority: 0.5, createdAt: 0, request: request)
        let created = try PartialStorage.create(publisher.partials.freshPath(for: record), total: nil).get()
        #expect(pwrite(created.descriptor, Self.content, Self.content.count, 0) == Self.content.count)
        record.partial = PartialFile(path: created.path, bootID: "b")
        let run = FinishRun(record: record, length: Int64(Self.content.count))
        guard
            case .ready(let prepared)? = publisher.prepare([
                Publisher.Job(run: run, descriptor: created.descriptor, place: nil)
            ])
            .first
        else { throw SystemError("not prepared") }
        let outcome = try #require(publisher.publish([prepared]).first)
        publisher.partials.discard(record)
        return outcome
    }

    private func status(_ path: String) throws -> stat {
        var information = stat()
        guard lstat(path, &information) == 0 else { throw SystemError("lstat \(path)") }
        return information
    }

    private func destination(_ name: String = "f", overwrite: Bool = false, umask: String? = nil) -> Destination {
        Destination(directory: downloads, filename: name, overwrite: overwrite, umask: umask)
    }

    @Test(arguments: [(String?.none, mode_t(0o644)), ("0077", 0o600), ("002", 0o664), ("0", 0o666)])
    func `T4: A new file has the mode that the caller's umask allows`(umask: String?, mode: mode_t) throws {
        try publish(destination(umask: umask))
        #expect(try status("\(downloads)/f").st_mode & 0o7777 == mode)
    }

    @Test(.enabled(if: geteuid() == 0, "needs root to give a folder another group"))
    func `T4: A new file or folder in a setgid folder gets the folder's group`() throws {
        try #require(chown(downloads, 0, 4_321) == 0 && chmod(downloads, 0o2775) == 0)
        try publish(destination())
        #expect(try status("\(downloads)/f").st_gid == 4_321)
        let made = Destination(directory: "\(downloads)/a/b", filename: "f", umask: "002")
        try publish(made)
        #expect(try status("\(downloads)/a/b").st_mode & 0o7777 == 0o2775)
        #expect(try status("\(downloads)/a/b/f").st_gid == 4_321)
    }

    @Test(.enabled(if: Programs.has("setfacl"), "needs setfacl"))
    func `T4: A new file gets the default access list of its folder, whatever the umask`() async throws {
        let set = try await ChildProcess.run("setfacl", ["-d", "-m", "u:4321:rw,g::r,o::-", downloads])
        try #require(set.code == 0, "\(set.errors)")
        try Data().write(to: URL(filePath: "\(downloads)/made"))
        try publish(destination(umask: "077"))
        let expected = try await ChildProcess.run("getfacl", ["-cpn", "\(downloads)/made"]).output
        #expect(expected.contains("user:4321:rw-"))
        #expect(try await ChildProcess.run("getfacl", ["-cpn", "\(downloads)/f"]).output == expected)
    }

    @Test func `T4: A new file gets the mode of the file that it replaces`() throws {
        let path = "\(downloads)/f"
        for mode: mode_t in [0o755, 0o600, 0o664] {
            try Data("old".utf8).write(to: URL(filePath: path))
            try #require(chmod(path, mode) == 0)
            try publish(destination(overwrite: true, umask: "022"))
            #expect(try status(path).st_mode & 0o7777 == mode)
            #expect(try fileBytes(path) == Self.content)
        }
    }

    @Test(.enabled(if: geteuid() == 0, "needs root to give a file to another user"))
    func `T4: A new file gets the owner of the file that it replaces`() throws {
        let path = "\(downloads)/f"
        try Data("old".utf8).write(to: URL(filePath: path))
        try #require(chown(path, 4_321, 4_322) == 0)
        try publish(destination(overwrite: true))
        let status = try status(path)
        #expect(status.st_uid == 4_321 && status.st_gid == 4_322)
        #expect(try fileBytes(path) == Self.content)
    }

    /// A test with a file of another user. The service may write to that file, but cannot create a file with the same
    /// owner.
    @Test(arguments: ["", "something that is longer than what is written into it"])
    func `T4: The service overwrites a file in place if another user must stay the owner`(old: String) throws {
        let path = "\(downloads)/f"
        try Data(old.utf8).write(to: URL(filePath: path))
        let before = try status(path).st_ino
        let from = directory.path("from.part")
        try Data(Self.content).write(to: URL(filePath: from))
        let standing = try #require(FileStanding(name: from))
        var publication = Publication(
            from: from, to: path, inode: standing.inode, size: standing.size, overwrite: true)
        publication.isInPlace = true
        let record = TaskRecord(
            session: .terminal, origin: "", state: .finishing, priority: 0.5, createdAt: 0,
            request: TaskRequest(url: "http://example.org/f"))
        let job = Publisher.Job(run: FinishRun(record: record), descriptor: open(from, O_RDWR | O_CLOEXEC), place: nil)
        guard case .published? = publisher.publish([Publisher.Prepared(job: job, publication: publication)]).first
        else {
            Issue.record("not published")
            return
        }
        #expect(try fileBytes(path) == Self.content)
        #expect(try status(path).st_ino == before)
        // A crash before the commit repeats the write.
        let found = Publisher.inspect(publication)
        #expect(found.finding == .pending)
        close(found.descriptor)
    }

    @Test(arguments: [true, false])
    func `T4: The service writes through a symbolic link, even if the link's target is missing`(_ isThere: Bool) throws
    {
        let target = directory.path("elsewhere")
        if isThere {
            try Data("old".utf8).write(to: URL(filePath: target))
            try #require(chmod(target, 0o640) == 0)
        }
        try FileManager.default.createSymbolicLink(atPath: "\(downloads)/g", withDestinationPath: "../elsewhere")
        try FileManager.default.createSymbolicLink(atPath: "\(downloads)/f", withDestinationPath: "g")
        try publish(destination(overwrite: true))
        #expect(try status("\(downloads)/f").st_mode & S_IFMT == S_IFLNK)
        #expect(try fileBytes(target) == Self.content)
        #expect(try status(target).st_mode & 0o7777 == (isThere ? 0o640 : 0o644))
        #expect(try FileManager.default.contentsOfDirectory(atPath: downloads).sorted() == ["f", "g"])
    }

    @Test func `T4: The service never replaces a device, FIFO, socket or file of a process`() throws {
        let fifo = "\(downloads)/fifo"
        try #require(mkfifo(fifo, 0o600) == 0)
        try FileManager.default.createSymbolicLink(atPath: "\(downloads)/link", withDestinationPath: fifo)
        for path in [fifo, "\(downloads)/link", "/dev/null", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"] {
            for overwrite in [true, false] {
                #expect(
                    ReplacedFile.obstacle(at: path, overwrite: overwrite)?.code == .destinationUnavailable, "\(path)")
            }
        }
        // A missing file and a regular file can be replaced.
        #expect(ReplacedFile.obstacle(at: "\(downloads)/new", overwrite: true) == nil)
        try FileManager.default.createSymbolicLink(atPath: "\(downloads)/loop", withDestinationPath: "loop")
        #expect(ReplacedFile.obstacle(at: "\(downloads)/loop", overwrite: true) != nil)
    }

    @Test(.enabled(if: geteuid() == 0, "needs root to make another user's link"))
    func `T4: The service does not follow another user's link in a world-writable folder`() throws {
        let target = directory.path("victim")
        try Data("victim".utf8).write(to: URL(filePath: target))
        let link = "\(downloads)/f"
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: target)
        try #require(lchown(link, 4_321, 4_321) == 0 && chmod(downloads, 0o1777) == 0)
        #expect(ReplacedFile.obstacle(at: link, overwrite: true) != nil)
        try #require(chmod(downloads, 0o755) == 0)
        #expect(ReplacedFile.obstacle(at: link, overwrite: true) == nil)
    }

    @Test(arguments: ["/proc/self/status", "/sys/kernel/uevent_seqnum"])
    func `T5: An upload source of unknown length is refused`(path: String) throws {
        guard FileManager.default.isReadableFile(atPath: path) else { return }
        var request = TaskRequest(kind: .upload, url: "http://example.org/f")
        request.source = path
        #expect(throws: Problem.self) {
            try RequestRules.record(
                request, session: .terminal, settings: SessionSettings(), now: TaskMachineTests.start, pointer: "")
        }
        request.source = "\(downloads)/empty"
        try Data().write(to: URL(filePath: "\(downloads)/empty"))
        _ = try RequestRules.record(
            request, session: .terminal, settings: SessionSettings(), now: TaskMachineTests.start, pointer: "")
    }
}
