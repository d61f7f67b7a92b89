import Foundation
import Glibc
import NightshiftAPI
import Store
import TestSupport
import Testing

@testable import Transfers

/// Tests of the last steps of a download, with changes by other processes in between.
@Suite struct PublisherTests {
    private let directory: TemporaryDirectory
    private let publisher: Publisher
    private let downloads: String

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

    private static let content = Array("what was written".utf8)

    /// Returns a download whose bytes have all arrived.
    private func download(id: Int64 = 0, overwrite: Bool = false, ifTaken: TakenName? = nil) throws -> (
        job: Publisher.Job, path: String
    ) {
        var request = TaskRequest(url: "http://example.org/f")
        request.destination = Destination(directory: downloads, filename: "f", overwrite: overwrite, ifTaken: ifTaken)
        var record = TaskRecord(
            session: .terminal, origin: "", state: .finishing, priority: 0.5, createdAt: 0, request: request)
        record.id = TaskID(id)
        let created = try PartialStorage.create(publisher.partials.freshPath(for: record), total: nil).get()
        #expect(pwrite(created.descriptor, Self.content, Self.content.count, 0) == Self.content.count)
        record.partial = PartialFile(path: created.path, bootID: "b")
        let length = Int64(Self.content.count)
        let job = Publisher.Job(
            run: FinishRun(record: record, length: length), descriptor: created.descriptor, place: nil)
        return (job, created.path)
    }

    enum Deed: CaseIterable, Sendable { case symlink, append, truncate, hardLink, anotherFile, remove }

    private func commit(_ deed: Deed, on path: String) throws {
        let spare = directory.path("spare")
        switch deed {
        case .symlink:
            try FileManager.default.moveItem(atPath: path, toPath: spare)
            try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: spare)
        case .append:
            let handle = try FileHandle(forWritingTo: URL(filePath: path))
            try handle.seekToEnd()
            try handle.write(contentsOf: Data("!".utf8))
            try handle.close()
        case .truncate: #expect(Glibc.truncate(path, 3) == 0)
        case .hardLink: try FileManager.default.linkItem(atPath: path, toPath: spare)
        case .anotherFile:
            try FileManager.default.moveItem(atPath: path, toPath: spare)
            try Data(Self.content).write(to: URL(filePath: path))
        case .remove: try FileManager.default.removeItem(atPath: path)
        }
    }

    private func expectPublished(_ job: Publisher.Job) throws {
        guard case .ready(let prepared)? = publisher.prepare([job]).first,
            case .published? = publisher.publish([prepared]).first
        else {
            Issue.record("not published")
            return
        }
        #expect(try fileBytes("\(downloads)/f") == Self.content)
    }

    @Test func `B2: An unchanged file is published`() throws {
        let (job, _) = try download()
        try expectPublished(job)
    }

    @Test func `T8: A download that is allowed only one name never takes another name`() throws {
        try Data("other".utf8).write(to: URL(filePath: "\(downloads)/f"))
        let (job, _) = try download(ifTaken: .join)
        guard case .ready(let prepared)? = publisher.prepare([job]).first else {
            Issue.record("not prepared")
            return
        }
        #expect(prepared.publication.failure?.code == .destinationExists)
        guard case .published? = publisher.publish([prepared]).first else {
            Issue.record("not published")
            return
        }
        // The received bytes are stored, and the existing file is unchanged.
        #expect(try fileBytes(prepared.publication.to) == Self.content)
        #expect(prepared.publication.failure?.message.contains(prepared.publication.to) == true)
        #expect(try fileBytes("\(downloads)/f") == Array("other".utf8))
        #expect(try FileManager.default.contentsOfDirectory(atPath: downloads) == ["f"])
    }

    @Test func `T8: Of two downloads that finish with one name, only one gets the name`() throws {
        let (first, _) = try download()
        let (second, _) = try download(id: 1, ifTaken: .refuse)
        let prepared = publisher.prepare([first, second]).compactMap { preparation -> Publisher.Prepared? in
            if case .ready(let prepared) = preparation { prepared } else { nil }
        }
        #expect(prepared.map(\.publication.to) == ["\(downloads)/f", "\(downloads)/f"])
        let outcomes = publisher.publish(prepared)
        guard case .published = outcomes[0], case .nameTaken = outcomes[1] else {
            Issue.record("\(outcomes)")
            return
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: downloads) == ["f"])
    }

    @Test(arguments: Deed.allCases, [false, true])
    func `B2: A file that was changed after its verification is not published`(_ deed: Deed, _ overwrite: Bool) throws {
        if overwrite { try Data("old".utf8).write(to: URL(filePath: "\(downloads)/f")) }
        let (job, path) = try download(overwrite: overwrite)
        guard case .ready(let prepared)? = publisher.prepare([job]).first else {
            Issue.record("not prepared")
            return
        }
        try commit(deed, on: path)
        guard case .replaced? = publisher.publish([prepared]).first else {
            Issue.record("published")
            return
        }
        let found = try? fileBytes("\(downloads)/f")
        #expect(found == (overwrite ? Array("old".utf8) : nil))
    }

    @Test func `B2: Without reliable inodes, the next run finishes a publication that has both names`()
        throws
    {
        let (from, to) = (directory.path("from.part"), directory.path("to"))
        let publication = Publication(from: from, to: to, inode: 0, size: Int64(Self.content.count), overwrite: false)
        try Data(Self.content).write(to: URL(filePath: from))
        try FileManager.default.linkItem(atPath: from, toPath: to)
        #expect(Publisher.inspect(publication).finding == .done)
        #expect(!FileManager.default.fileExists(atPath: from))
        #expect(try fileBytes(to) == Self.content)
    }

    @Test func `B2: The service creates the folder of partial files again after its removal`() throws {
        let (job, path) = try download()
        try FileManager.default.removeItem(atPath: (path as NSString).deletingLastPathComponent)
        #expect(throws: TransferFailure.self) { try PartialStorage.create(path, total: nil).get() }
        publisher.partials.restoreFolder()
        let created = try PartialStorage.create(path, total: nil).get()
        close(created.descriptor)
        close(job.descriptor)
    }

    @Test func `B2: A file on a file system without link counts is not refused`() throws {
        let path = directory.path("counted")
        try Data(Self.content).write(to: URL(filePath: path))
        var standing = try #require(FileStanding(name: path))
        standing.links = 0
        #expect(standing.flaw(owner: nil) == nil)
    }

    /// A test with the behaviour of a bind mount: the source and the destination have one device, but a rename between
    /// them fails.
    @Test func `B2: A file that cannot be renamed is copied next to its name and published there`() throws {
        var (job, path) = try download()
        guard case .ready(let first)? = publisher.prepare([job]).first else {
            Issue.record("not prepared")
            return
        }
        #expect(first.publication.from == path)
        let now = ClockReading(bootID: "b", bootSeconds: 1, wallSeconds: 1)
        var run = job.run
        _ = run.arrived(size: run.length, hasHoles: false, now: now)
        _ = run.prepared(first.publication, now: now)
        _ = run.saved(true)
        #expect(run.unreachable(now: now) == [.reopen(first.publication)])
        _ = run.reopened(isSame: true)
        job.run = run
        guard case .ready(let second)? = publisher.prepare([job]).first,
            case .published? = publisher.publish([second]).first
        else {
            Issue.record("not published")
            return
        }
        #expect((second.publication.from as NSString).deletingLastPathComponent == downloads)
        #expect(second.publication.inode != first.publication.inode)
        #expect(try fileBytes("\(downloads)/f") == Self.content)
        // The original is gone, and no temporary copy is left next to the file.
        #expect(!FileManager.default.fileExists(atPath: path))
        #expect(try FileManager.default.contentsOfDirectory(atPath: downloads) == ["f"])
    }

    @Test(arguments: [Deed.append, .truncate])
    func `B2: A file whose length differs from the written length is not prepared`(_ deed: Deed) throws {
        let (job, path) = try download()
        try commit(deed, on: path)
        guard case .replaced? = publisher.prepare([job]).first else {
            Issue.record("prepared")
            return
        }
        close(job.descriptor)
    }

    /// A test of file systems that assign a new file to another user, such as NFS with `all_squash`, vboxsf, CIFS and
    /// sshfs. Only root can create such files in this test.
    @Test(.enabled(if: geteuid() == 0))
    func `B2: A file that its file system assigns to another user is published`() throws {
        let (job, path) = try download()
        guard chown(path, 65_534, 65_534) == 0 else { return }
        try expectPublished(job)
    }

    /// A test with the behaviour of FAT and FUSE, on which a file may have another inode number after a rename.
    @Test func `B2: A file whose inode number changes is published`() throws {
        let (job, path) = try download()
        guard case .ready(var prepared)? = publisher.prepare([job]).first else {
            Issue.record("not prepared")
            return
        }
        prepared.publication.inode = 0
        try commit(.anotherFile, on: path)
        guard case .published? = publisher.publish([prepared]).first else {
            Issue.record("not published")
            return
        }
        #expect(try fileBytes("\(downloads)/f") == Self.content)
        for type: Int64 in [0x4d44, 0x2011_bab0, 0x6573_5546] { #expect(!FileStanding.keepsNumbers(type: type)) }
        for type: Int64 in [0xef53, 0x5846_5342, 0x0102_1994, -1] { #expect(FileStanding.keepsNumbers(type: type)) }
    }

    @Test func `B2: Without lasting inode numbers, file names identify an interrupted publication`() throws {
        let (from, to) = (directory.path("from.part"), directory.path("to"))
        var publication = Publication(
            from: from, to: to, inode: 0, size: Int64(Self.content.count), overwrite: false)
        try Data(Self.content).write(to: URL(filePath: from))
        let waiting = Publisher.inspect(publication)
        #expect(waiting.finding == .pending && waiting.descriptor >= 0)
        close(waiting.descriptor)
        try #require(rename(from, to) == 0)
        #expect(Publisher.inspect(publication).finding == .done)
        // The file that is to be replaced may still exist.
        publication.overwrite = true
        #expect(Publisher.inspect(publication).finding == .lost)
    }

    @Test func `A name that the file system does not allow fails the task permanently`() {
        #expect(DiskTrouble.renaming(EINVAL, to: "/media/stick/a:b").code == .destinationUnavailable)
        #expect(DiskTrouble.renaming(EIO, to: "/media/stick/a").code == .inputOutput)
        #expect(
            DiskTrouble.noSpace(needed: 1_610_612_736, free: 512).message
                == "1.5 GiB more are needed, and 512 B are free.")
    }

    @Test func `B2: A partial file is created exclusively, even if another file had its path`() throws {
        let (path, victim) = (directory.path("place.part"), directory.path("victim"))
        try Data("victim".utf8).write(to: URL(filePath: victim))
        let plantings: [() throws -> Void] = [
            { try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: victim) },
            { try FileManager.default.linkItem(atPath: victim, toPath: path) },
            { try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false) },
        ]
        for plant in plantings {
            try plant()
            let created = try PartialStorage.create(path, total: nil).get()
            let standing = try #require(FileStanding(name: created.path))
            #expect(standing.flaw(owner: nil) == nil && standing.size == 0 && standing.inode == created.inode)
            #expect(try fileBytes(victim) == Array("victim".utf8))
            close(created.descriptor)
            unlink(created.path)
            rmdir(path)
        }
    }
}
