import Foundation
package import GRDB
package import NightshiftAPI

/// A task as the store keeps it. Times named "boot" are boot seconds of the present boot, others seconds since 1970.
package struct TaskRecord: Sendable, Hashable {
    package var id: TaskID
    package var session: SessionID
    package var taskIdentifier: Int64
    package var lane: LaneID
    package var origin: String
    /// Connections that the session allows with this origin.
    package var maximumConnections: Int
    package var state: TaskState
    package var priority: Double
    /// Known to be large: it leaves room for others (see `Scheduler`).
    package var isLarge: Bool
    /// Boot seconds before which no attempt is made.
    package var notBefore: Double?
    /// Seconds since 1970 before which the first attempt is not made; nil once that time has come.
    package var beginAt: Double?
    package var wait: StoredWait?
    /// Boot seconds of the resource timeout; nil while suspended.
    package var deadline: Double?
    /// What was left of the resource timeout, in seconds, when the task was suspended.
    package var timeLeft: Double?
    package var createdAt: Double
    package var startedAt: Double?
    package var endedAt: Double?
    /// Boot seconds at which it ended, while the row does not say so yet.
    package var endedBoot: Double?
    /// The request, with the session's settings filled in. Holds secrets.
    package var request: TaskRequest
    /// What the file to upload was when the task was accepted.
    package var source: FileIdentity?
    /// The files that are sent, where that is not simply ``source``: the service's own copies, or the files of a form.
    package var uploadSource: UploadSource?
    /// What the server keeps of an upload that can be continued.
    package var upload: UploadResource?
    package var partial: PartialFile?
    package var publication: Publication?
    /// The folder that the file goes to, as it was when the task was accepted; nil while nobody has looked at it.
    package var folder: FolderIdentity?
    package var currentURL: String?
    package var response: ResponseSummary?
    package var lastError: TransferFailure?
    package var error: TransferFailure?
    package var received: Int64
    package var sent: Int64
    package var file: String?
    package var verified: [String]
    package var attempts: Int
    package var restarts: Int
    /// Failures in a row without progress in between.
    package var failures: Int
    /// Attempts in a row that left nothing to continue from, one under way included: a task with such attempts leaves room for others.
    package var fruitless = 0
    /// The most bytes that were ever there for an attempt to continue from.
    package var furthest: Int64 = 0
    /// URLs that have sent the whole, and not what was asked for: 0 is the task's own, the others are its mirrors. Places, as
    /// URLs may hold secrets.
    package var wrongSources: [Int] = []
    /// A first answer that is not taken for the file yet; later ones are noted with what is here.
    package var firstDoubt: AnswerDoubt?
    package var resumeData: String?
    /// The app whose session it is in.
    package var app: AppID?
    /// What the app's library noted with it.
    package var clientData: String?
    /// Made from resume data.
    package var continues: Bool
    /// From which byte it went on, once a task made from resume data has: 0 where it began again.
    package var resumedAt: Int64?
    /// Whether its app wants to be asked when its begin date has come.
    package var asksFirst: Bool
    /// The question that it waits for its app to answer.
    package var question: SessionMessage.Kind?
    /// The conditions that it needs of the device now: fewer than were asked for once it has loosened.
    package var rules = TransferRules()
    /// Boot seconds at which it needs less.
    package var loosensAt: Double?
    /// Whether it waits for a good moment only because its app added it in the background.
    package var isDiscretionForced = false

    package var kind: TaskKind { request.kind }

    /// The URL by which an equal request finds it; nil where none is joined to it.
    package var joinURL: String? {
        switch request.ifSame ?? .new {
        case .new: nil
        case .join, .joinSuspended: request.url
        }
    }

    /// The address of the proxy that it names, without name and password; nil where it names none.
    package var proxyAddress: String? { request.proxy.map { ProxyAddress($0).url } }

    /// The files that an upload sends.
    package var sentFiles: UploadSource? {
        if let uploadSource { return uploadSource }
        guard let source else { return nil }
        return UploadSource(
            files: [UploadSource.File(path: request.source ?? "", identity: source)], length: source.size)
    }

    /// A task that is about to be inserted, which gives it its ids.
    package init(
        session: SessionID, origin: String, state: TaskState, priority: Double, createdAt: Double, request: TaskRequest
    ) {
        id = TaskID(0)
        self.session = session
        taskIdentifier = 0
        lane = LaneID(rawValue: 0)
        self.origin = origin
        maximumConnections = 0
        self.state = state
        self.priority = priority
        isLarge = false
        self.createdAt = createdAt
        self.request = request
        received = 0
        sent = 0
        verified = []
        attempts = 0
        restarts = 0
        failures = 0
        continues = false
        asksFirst = false
    }
}

/// The tasks of one session that go to one origin in one way.
package struct LaneID: RawRepresentable, Hashable, Sendable {
    package let rawValue: Int64

    package init(rawValue: Int64) {
        self.rawValue = rawValue
    }
}

/// Why a task waits, where that cannot be derived from the conditions of the moment.
package struct StoredWait: Hashable, Sendable {
    package var reason: WaitReason
    package var since: Double
    package var detail: String?

    package init(reason: WaitReason, since: Double, detail: String?) {
        self.reason = reason
        self.since = since
        self.detail = detail
    }
}

/// A file that holds the beginning of a download, and what is known of the whole.
package struct PartialFile: Hashable, Sendable, Codable {
    package var path: String
    /// This many first bytes are known to survive a power cut.
    package var synced: Int64
    /// The boot in which the file was last written: within it, its length counts too, or what ``segments`` calls written.
    package var bootID: String
    /// Which bytes are here where some may lie behind gaps: the file's length says nothing then.
    package var segments: SegmentMap?
    package var total: Int64?
    package var entityTag: String?
    package var lastModified: String?
    package var date: String?
    /// How to ask for the rest next: a `RangeCondition`.
    package var condition: String
    /// Digests that the server announced for the whole.
    package var digests: [Checksum]
    /// Whether the bytes came from another URL than the task has now, and nothing has proven yet that they go on there.
    package var isOfAnotherURL: Bool?
    /// The mirror that its validators are of; nil where they are of the task's own URL.
    package var mirror: String?
    /// `TransferURL.place` of the resource that its validators are of; without a question mark and what follows it, or nil, in rows of
    /// older services.
    package var place: String?
    /// The type of the response that the bytes came with, in lower case and without parameters.
    package var mediaType: String?
    /// The coding that is removed from the bytes when all of them are here; nil where they are the file.
    package var coding: ContentCoding?
    /// The file itself, which nothing else may take the place of; nil in rows of older services.
    package var inode: UInt64?
    /// As ``inode``; holds in the boot ``bootID`` only.
    package var device: UInt64?
    /// Whose the file is to its file system, where that is not the user who made it.
    package var owner: UInt32?
    /// The file's length when its last exchange ended in order; nil while one may be writing, and with ``segments``.
    package var length: Int64?
    /// Why the bytes are not continued, where that is settled: they make room for the next whole response.
    package var lossReason: String?
    /// An answer for which they are not given up yet.
    package var doubt: AnswerDoubt?

    package init(path: String, bootID: String) {
        self.path = path
        self.bootID = bootID
        synced = 0
        condition = "entityTag"
        digests = []
    }
}

extension PartialFile {
    /// All bytes that are here were synced: `count` of them from the start, or those of ``segments``.
    package mutating func noteSynced(_ count: Int64) {
        if let written = segments?.written { segments?.sync(written) }
        synced = segments?.synced.prefix ?? count
    }

    /// From here on only synced bytes count: what the kernel could not write may be gone from its cache as well, and a
    /// later sync that succeeds says nothing of it.
    package mutating func distrustUnsynced() {
        bootID = ""
    }

    /// Another URL is asked from here on: the bytes go on there only if something proves that they belong there.
    package mutating func leaveURL() {
        isOfAnotherURL = true
        mirror = nil
        if lossReason == nil { condition = "entityTag" }
    }
}

/// An answer for which bytes would have to be given up, here or at the server, and which looks like nobody's new version of the file
/// and no word of the upload's server: see `AnswerDoubts`.
package struct AnswerDoubt: Hashable, Sendable, Codable {
    /// The values that tell this answer from another one.
    package var fingerprint: String
    /// How often it has come.
    package var times: Int

    package init(fingerprint: String, times: Int) {
        self.fingerprint = fingerprint
        self.times = times
    }
}

/// The values that tell a file that was changed or replaced from the one that was read.
package struct FileIdentity: Hashable, Sendable, Codable {
    package var size: Int64
    package var modifiedNanoseconds: Int64
    package var inode: UInt64
    package var device: UInt64

    package init(size: Int64, modifiedNanoseconds: Int64, inode: UInt64, device: UInt64) {
        self.size = size
        self.modifiedNanoseconds = modifiedNanoseconds
        self.inode = inode
        self.device = device
    }
}

/// The values that tell a folder from another one of the same path, and from the one below a file system that is not mounted.
package struct FolderIdentity: Hashable, Sendable, Codable {
    /// The type of its file system, as statfs(2) has it.
    package var type: Int64
    /// Its file system, by a name that outlives a reboot; nil where it has no such name.
    package var fileSystem: String?
    /// 0 where the file system gives folders other numbers as it goes along.
    package var inode: UInt64

    package init(type: Int64, fileSystem: String?, inode: UInt64) {
        self.type = type
        self.fileSystem = fileSystem
        self.inode = inode
    }
}

/// The intent to give a finished file its name, written down before it is done.
package struct Publication: Hashable, Sendable, Codable {
    package var from: String
    package var to: String
    /// 0 where the file system gives files other numbers as it goes along.
    package var inode: UInt64
    /// Whose the file is to its file system, where that is not the user who made it.
    package var owner: UInt32?
    package var size: Int64
    /// Whether a file that is there is replaced.
    package var overwrite: Bool
    /// Whether the bytes are written into the file that is there, which keeps its owner.
    package var isInPlace: Bool?
    /// Digests that were compared and right.
    package var verified: [String] = []
    /// Why the file could not go where it should: it goes to the service's own directory, and the task fails with this.
    package var failure: TransferFailure?

    package init(from: String, to: String, inode: UInt64, size: Int64, overwrite: Bool) {
        self.from = from
        self.to = to
        self.inode = inode
        self.size = size
        self.overwrite = overwrite
    }
}

extension TaskRecord: FetchableRecord {
    package init(row: Row) throws {
        id = TaskID(row["id"])
        session = SessionID(rawValue: row["session_identifier"])
        taskIdentifier = row["identifier"]
        lane = LaneID(rawValue: row["lane"])
        origin = row["origin"]
        maximumConnections = row["connections"] ?? SessionSettings().httpMaximumConnectionsPerHost
        state = try Self.word(row["state"])
        priority = row["priority"]
        isLarge = row["large"]
        notBefore = row["not_before"]
        beginAt = row["begin_at"]
        if let reason: String = row["wait_reason"] {
            wait = StoredWait(
                reason: try Self.word(reason), since: row["wait_since"] ?? row["created_at"], detail: row["wait_detail"]
            )
        }
        deadline = row["deadline"]
        timeLeft = row["time_left"]
        createdAt = row["created_at"]
        startedAt = row["started_at"]
        endedAt = row["ended_at"]
        request = try Columns.decode(TaskRequest.self, row["request"])
        source = try Columns.decodeIfPresent(FileIdentity.self, row["source"])
        uploadSource = try Columns.decodeIfPresent(UploadSource.self, row["upload_source"])
        upload = try Columns.decodeIfPresent(UploadResource.self, row["upload"])
        partial = try Columns.decodeIfPresent(PartialFile.self, row["partial"])
        publication = try Columns.decodeIfPresent(Publication.self, row["publication"])
        folder = try Columns.decodeIfPresent(FolderIdentity.self, row["folder"])
        currentURL = row["current_url"]
        response = try Columns.decodeIfPresent(ResponseSummary.self, row["response"])
        lastError = try Columns.decodeIfPresent(TransferFailure.self, row["last_error"])
        error = try Columns.decodeIfPresent(TransferFailure.self, row["error"])
        received = row["received"]
        sent = row["sent"]
        file = row["file"]
        verified = try Columns.decodeIfPresent([String].self, row["verified"]) ?? []
        attempts = row["attempts"]
        restarts = row["restarts"]
        failures = row["failures"]
        fruitless = row["fruitless"]
        furthest = row["furthest"]
        firstDoubt = try Columns.decodeIfPresent(AnswerDoubt.self, row["first_doubt"])
        wrongSources = try Columns.decodeIfPresent([Int].self, row["wrong_sources"]) ?? []
        resumeData = row["resume_data"]
        app = (row["app"] as String?).map(AppID.init(rawValue:))
        clientData = row["client_data"]
        continues = row["continues"]
        resumedAt = row["resumed_at"]
        asksFirst = row["asks_first"]
        question = try (row["question"] as String?).map { try Self.word($0) }
        guard let rules = TransferRules(code: row["rules"]) else {
            throw StoreError(.damaged, "The database holds the unknown rules \(row["rules"] as Int64).")
        }
        self.rules = rules
        loosensAt = row["loosens_at"]
        isDiscretionForced = row["discretion_forced"]
        try checkNumbers()
    }

    /// Numbers that no service has written: times that cannot be told, and counts that have no next one.
    private func checkNumbers() throws {
        for time in [createdAt, startedAt, endedAt, beginAt, wait?.since] {
            // A task may be asked to begin at the very end of the last second.
            try Self.check(time, in: Timestamp.first.timeIntervalSince1970...Timestamp.last.timeIntervalSince1970 + 1)
        }
        for time in [notBefore, deadline, timeLeft, loosensAt] { try Self.check(time, in: Self.bootSeconds) }
        for count in [attempts, restarts, failures, fruitless] { try Self.check(count, in: 0...Self.largestCount) }
        for bytes in [received, sent, furthest, resumedAt ?? 0] { try Self.check(bytes, in: 0...Self.largestSize) }
    }

    /// Far more than ``Limits/longestTimeout`` in both directions, and so little that the wall clock can tell it.
    private static let bootSeconds = -5e10...5e10
    /// An attempt in each millisecond of a year.
    private static let largestCount = 1 << 35
    /// Larger than any file of Linux by half, so that two of them can be added.
    private static let largestSize: Int64 = 1 << 62

    private static func check<Number: Comparable>(_ number: Number?, in range: ClosedRange<Number>) throws {
        guard let number, !range.contains(number) else { return }
        throw StoreError(.damaged, "The database holds the impossible number \(number).")
    }

    private static func word<Word: RawRepresentable<String>>(_ text: String) throws -> Word {
        guard let word = Word(rawValue: text) else {
            throw StoreError(.damaged, "The database holds the unknown word '\(text)'.")
        }
        return word
    }
}

/// Values kept as JSON in text columns.
enum Columns {
    static func encode(_ value: some Encodable) throws -> String {
        String(decoding: try JSON.encode(value), as: UTF8.self)
    }

    static func encodeIfPresent(_ value: (some Encodable)?) throws -> String? {
        try value.map { try encode($0) }
    }

    static func decode<Value: Decodable>(_ type: Value.Type, _ text: String) throws -> Value {
        try JSON.decode(type, from: Data(text.utf8))
    }

    static func decodeIfPresent<Value: Decodable>(_ type: Value.Type, _ text: String?) throws -> Value? {
        try text.map { try decode(type, $0) }
    }

    /// What is wrong with a value that makes no sense.
    static func words(for error: any Error) -> String {
        switch error {
        case let error as StoreError: error.message
        case DecodingError.keyNotFound(let key, _): "A value '\(key.stringValue)' is missing."
        case DecodingError.typeMismatch(_, let context), DecodingError.valueNotFound(_, let context),
            DecodingError.dataCorrupted(let context):
            // Without the text itself, which may hold secrets.
            "A value is not what it should be: \(context.codingPath.map(\.stringValue).joined(separator: "."))."
        default: "A value is not what it should be."
        }
    }
}
