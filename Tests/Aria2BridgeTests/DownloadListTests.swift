import Foundation
import NightshiftAPI
import Testing

@testable import Aria2Bridge

/// B7: The downloads that clients of aria2 see.
@Suite struct DownloadListTests {
    private static func task(
        _ id: Int64, _ gid: String, _ state: TaskState, priority: Double = 0.5, endedAt: Double? = nil
    ) throws -> TaskStatus {
        var task = TaskStatus(
            id: TaskID(id), session: Bridge.session, taskIdentifier: id, kind: .download, method: "GET",
            url: "http://localhost/", state: state, priority: priority, createdAt: Date(timeIntervalSince1970: 0))
        task.clientData = DownloadNote(gid: try #require(GID(gid)), uris: [], options: [:]).text
        task.endedAt = endedAt.map { Date(timeIntervalSince1970: $0) }
        return task
    }

    @Test func `A download is found by its GID and by a unique prefix, and by nothing else`() throws {
        var list = DownloadList()
        _ = list.update(try Self.task(1, "aa00000000000001", .running))
        _ = list.update(try Self.task(2, "ab00000000000001", .running))
        #expect(try list.find("aa00000000000001").task == TaskID(1))
        #expect(try list.find("ab").task == TaskID(2))
        #expect(throws: RPCError("GID a is not unique")) { try list.find("a") }
        #expect(throws: RPCError("GID c is not found")) { try list.find("c") }
        #expect(throws: RPCError("Invalid GID xy")) { try list.find("xy") }
        #expect(throws: RPCError("GID aa00000000000002 is not found")) { try list.find("aa00000000000002") }
    }

    @Test func `A transfer without a note of the bridge is not in the list`() throws {
        var list = DownloadList()
        var task = try Self.task(1, "aa00000000000001", .running)
        task.clientData = "{}"
        #expect(list.update(task) == nil)
        #expect(list.isEmpty)
    }

    @Test func `The queue is in the order of priorities, then of ids; results are in the order of their ends`() throws {
        var list = DownloadList()
        _ = list.update(try Self.task(1, "0000000000000001", .suspended))
        _ = list.update(try Self.task(2, "0000000000000002", .suspended, priority: 0.7))
        _ = list.update(try Self.task(3, "0000000000000003", .suspended))
        _ = list.update(try Self.task(4, "0000000000000004", .completed, endedAt: 9))
        _ = list.update(try Self.task(5, "0000000000000005", .failed, endedAt: 8))
        #expect(list.queued.map(\.task) == [TaskID(2), TaskID(1), TaskID(3)])
        #expect(list.stopped.map(\.task) == [TaskID(5), TaskID(4)])
    }

    @Test(
        arguments: [
            (0, 2, [1, 2]), (1, 9, [2, 3, 4]), (4, 1, []), (0, 0, []), (-1, 2, [4, 3]), (-2, 1, [3]), (-4, 9, [1]),
            (-5, 9, []), (-1, Int64.max, [4, 3, 2, 1]), (Int64.min, 1, []), (0, Int64.max, [1, 2, 3, 4]),
        ] as [(Int64, Int64, [Int64])])
    func `A negative offset counts from the end, and reverses the part`(offset: Int64, count: Int64, expected: [Int64])
        throws
    {
        let entries = try (1...4).map { number in
            DownloadList.Entry(
                task: TaskID(number), gid: try #require(GID("000000000000000\(number)")), status: .paused, priority: 0.5
            )
        }
        #expect(entries.part(offset: offset, count: count).map(\.task) == expected.map { TaskID($0) })
    }

    @Test(
        arguments: [
            (nil, .waiting, []), (nil, .active, [.start]), (.waiting, .active, [.start]), (.active, .active, []),
            (.active, .paused, [.pause]), (.waiting, .paused, []), (nil, .paused, []),
            (.paused, .waiting, []), (.active, .complete, [.complete]), (.waiting, .complete, [.start, .complete]),
            (.active, .error, [.error]), (.active, .removed, [.stop]), (.paused, .removed, []),
            (.complete, .active, []),
        ] as [(DownloadStatus?, DownloadStatus, [DownloadEvent])])
    func `A change of the status causes the events of aria2`(
        old: DownloadStatus?, new: DownloadStatus, expected: [DownloadEvent]
    ) {
        #expect(DownloadEvent.events(from: old, to: new) == expected)
    }

    @Test func `Events that a broken stream missed follow from two lists`() throws {
        var earlier = DownloadList()
        _ = earlier.update(try Self.task(1, "0000000000000001", .running))
        var later = DownloadList()
        _ = later.update(try Self.task(1, "0000000000000001", .completed, endedAt: 1))
        _ = later.update(try Self.task(2, "0000000000000002", .running))
        #expect(later.events(since: earlier).map(\.events) == [[.complete], [.start]])
    }
}
