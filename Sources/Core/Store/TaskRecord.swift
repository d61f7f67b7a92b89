import Foundation
package import GRDB
package import NightshiftAPI

/// A stored task. Times whose name contains "boot" are in seconds of the current boot. Other times are in seconds since
/// 1970.
package struct TaskRecord: Sendable, Hashable {
    package var id: TaskID
    package var session: SessionID
    package var taskIdentifier: Int64
    package var lane: LaneID
    package var origin: String
    /// The number of connections that the session allows to this origin.
    package var maximumConnections: Int
    package var state: TaskState
    package var priority: Double
    /// Whether the task is known to be large. A large task lets others run first (see `Scheduler`).
    package var isLarge: Bool
    /// The time in boot seconds before which no attempt begins.
    package var notBefore: Double?
    /// The time in seconds since 1970 before which the first attempt does not begin; nil once this time has been
    /// reached.
    package var beginAt: Double?
    package var wait: StoredWait?
    /// The end of the resource timeout in boot seconds; nil while the task is suspended.
    package var deadline: Double?
    /// The number of seconds that were left of the resource timeout when the task was suspended.
    package var timeLeft: Double?
    package var createdAt: Double
    package var startedAt: Double?
    package var endedAt: Double?
    /// The time at which the task ended, in boot seconds. It is kept until it is written to the row.
    package var endedBoot: Double?
    /// The request, completed with the session's settings. It contains secrets.
    package var request: TaskRequest
    /// The identity that the uploaded file had when the task was accepted.
    package var source: FileIdentity?
    /// The files to send, if they differ from ``source``: the service's own copies, or the files of a form.
    package var uploadSource: UploadSource?
    /// The upload resource at the server, if the upload is resumable.
    package var upload: UploadResource?
    package var partial: PartialFile?
    package var publication: Publication?
    /// The identity that the destination folder had when the task was accepted; nil until it is examined.
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
    /// The number of consecutive failures without progress in between.
    package var failures: Int
    /// The number of consecutive attempts that left no bytes to resume from, including the current attempt. If the
    /// number is not 0, the task lets other tasks run first.
    package var fruitless = 0
    /// The largest number of bytes from which an attempt could have resumed.
    package var furthest: Int64 = 0
    /// The indices of URLs that sent a complete but wrong file. Index 0 is the task's own URL, and the other indices
    /// are its mirrors. Indices are stored because URLs may contain secrets.
    package var wrongSources: [Int] = []
    /// A first suspect response, which is not accepted as the file yet. Later suspect responses are stored with the
    /// partial file.
    package var firstDoubt: SuspectResponse?
    package var resumeData: String?
    /// The app that owns the session.
    package var app: AppID?
    /// The data that the app's library stored with the task.
    package var clientData: String?
    /// Whether the task was created from resume data.
    package var continues: Bool
    /// The byte from which a task created from resume data resumed. It is 0 if the task restarted.
    package var resumedAt: Int64?
    /// Whether the app wants to be asked when the begin date is reached.
    package var asksFirst: Bool
    /// The question that the app must answer before the task continues; nil if there is no question.
    package var question: SessionMessage.Kind?
    /// The current device requirements. After a relaxation, they are fewer than requested.
    package var rules = TransferRules()
    /// The time in boot seconds at which the requirements are relaxed.
    package var relaxesAt: Double?
    /// Whether the task is discretionary only because its app added it in the background.
    package var isDiscretionForced = false

    package var kind: TaskKind { request.kind }

    /// The URL by which an equal request finds the task; nil if requests cannot reuse the task.
    package var joinURL: String? {
        switch request.ifSame ?? .new {
        case .new: nil
        case .join, .joinSuspended: request.url
        }
    }

    /// The address of the requested proxy, without name and password; nil if no proxy is requested.
    package var proxyAddress: String? { request.proxy.map { ProxyAddress($0).url } }

    /// The files that the upload sends.
    package var sentFiles: UploadSource? {
        if let uploadSource { return uploadSource }
        guard let source else { return nil }
        return UploadSource(
            files: [UploadSource.File(path: request.source ?? "", identity: source)], length: source.size)
    }

    /// Creates a task without ids. The insertion assigns them.
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

/// The id of a per-origin queue. The queue contains the tasks of one session with the same origin and the same route.
package struct LaneID: RawRepresentable, Hashable, Sendable {
    package let rawValue: Int64

    package init(rawValue: Int64) {
        self.rawValue = rawValue
    }
}

/// The stored reason why a task waits. It is stored only if it cannot be derived from the current conditions.
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

/// The partial file of a download, and the known properties of the whole file.
package struct PartialFile: Hashable, Sendable, Codable {
    package var path: String
    /// The number of leading bytes that are known to survive a power cut.
    package var synced: Int64
    /// The boot in which the file was last written. Within this boot, unsynced bytes are trusted too: the whole length
    /// of the file, or the written ranges of ``segments``.
    package var bootID: String
    /// The received ranges, if there can be gaps. The length of the file then does not show how much was received.
    package var segments: SegmentMap?
    package var total: Int64?
    package var entityTag: String?
    package var lastModified: String?
    package var date: String?
    /// The condition for the next range request, as a `RangeCondition`.
    package var condition: String
    /// The digests that the server announced for the whole file.
    package var digests: [Checksum]
    /// Whether the bytes came from a URL other than the task's current one, and no response has proven yet that the
    /// download can resume these bytes from the current URL.
    package var isOfAnotherURL: Bool?
    /// The mirror that sent the validators; nil if the task's own URL sent the validators.
    package var mirror: String?
    /// The `TransferURL.place` of the resource that sent the validators. In rows of older services, it has no query or
    /// is nil.
    package var place: String?
    /// The media type of the response with the bytes, in lower case and without parameters.
    package var mediaType: String?
    /// The content coding that is removed once all bytes are received; nil if the file has no coding to remove.
    package var coding: ContentCoding?
    /// The inode number of the file, which prevents confusion with another file; nil in rows of older services.
    package var inode: UInt64?
    /// The device of the file. It is valid only in the boot ``bootID``.
    package var device: UInt64?
    /// The owner of the file according to its file system, if the owner is not the user who created it.
    package var owner: UInt32?
    /// The length of the file when its last exchange ended normally. It is nil during an exchange, and with
    /// ``segments``.
    package var length: Int64?
    /// The reason why the received bytes cannot be used; nil if they can be used. If there is a reason, the next
    /// complete response replaces the bytes.
    package var lossReason: String?
    /// The last suspect response, because of which the service has not discarded the bytes yet.
    package var doubt: SuspectResponse?

    package init(path: String, bootID: String) {
        self.path = path
        self.bootID = bootID
        synced = 0
        condition = "entityTag"
        digests = []
    }
}

extension PartialFile {
    /// Records a sync of all received bytes. They are `count` bytes from the start, or the bytes of ``segments``.
    package mutating func noteSynced(_ count: Int64) {
        if let written = segments?.written { segments?.sync(written) }
        synced = segments?.synced.prefix ?? count
    }

    /// Trusts only synced bytes from now on. Bytes that the kernel could not write may also be gone from its cache, and
    /// a later successful sync does not show this.
    package mutating func distrustUnsynced() {
        bootID = ""
    }

    /// Records that another URL is used from now on. The download resumes the bytes from the new URL only if a response
    /// proves that the bytes belong to the file at the new URL.
    package mutating func leaveURL() {
        isOfAnotherURL = true
        mirror = nil
        if lossReason == nil { condition = "entityTag" }
    }
}

/// A suspect response. The service would have to discard bytes because of it, on disk or at the server, but the
/// response looks neither like a new version of the file nor like a response of the upload's server. See
/// `SuspectResponses`.
package struct SuspectResponse: Hashable, Sendable, Codable {
    /// The text by which the service recognises the same response.
    package var fingerprint: String
    /// The number of times that the response was received.
    package var times: Int

    package init(fingerprint: String, times: Int) {
        self.fingerprint = fingerprint
        self.times = times
    }
}

/// The values that show whether a file was changed or replaced since it was read.
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

/// The values that identify a folder. They distinguish it from another folder with the same path, and from the mount
/// point of an unmounted file system.
package struct FolderIdentity: Hashable, Sendable, Codable {
    /// The type of the file system according to statfs(2).
    package var type: Int64
    /// A name of the file system that stays the same after a reboot; nil if the file system has none.
    package var fileSystem: String?
    /// The inode number of the folder. It is 0 if the file system changes the numbers of folders.
    package var inode: UInt64

    package init(type: Int64, fileSystem: String?, inode: UInt64) {
        self.type = type
        self.fileSystem = fileSystem
        self.inode = inode
    }
}

/// The intent to publish a finished file under its name. It is stored before the file is moved.
package struct Publication: Hashable, Sendable, Codable {
    package var from: String
    package var to: String
    /// The inode number of the file. It is 0 if the file system changes the numbers of files.
    package var inode: UInt64
    /// The owner of the file according to its file system, if the owner is not the user who created it.
    package var owner: UInt32?
    package var size: Int64
    /// Whether an existing file is replaced.
    package var overwrite: Bool
    /// Whether the bytes are written into the existing file, which keeps its owner.
    package var isInPlace: Bool?
    /// The digests that were verified.
    package var verified: [String] = []
    /// The failure that prevented publication at the destination. The file is then moved to the service's own
    /// directory, and the task ends with this failure.
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
        firstDoubt = try Columns.decodeIfPresent(SuspectResponse.self, row["first_doubt"])
        wrongSources = try Columns.decodeIfPresent([Int].self, row["wrong_sources"]) ?? []
        resumeData = row["resume_data"]
        app = (row["app"] as String?).map(AppID.init(rawValue:))
        clientData = row["client_data"]
        continues = row["continues"]
        resumedAt = row["resumed_at"]
        asksFirst = row["asks_first"]
        question = try (row["question"] as String?).map { try Self.word($0) }
        guard let rules = TransferRules(code: row["rules"]) else {
            throw StoreError(.damaged, "The database contains unknown rules: \(row["rules"] as Int64).")
        }
        self.rules = rules
        relaxesAt = row["loosens_at"]
        isDiscretionForced = row["discretion_forced"]
        try checkNumbers()
    }

    /// Throws for numbers that no service has written: times out of range, and counts that cannot be increased.
    private func checkNumbers() throws {
        for time in [createdAt, startedAt, endedAt, beginAt, wait?.since] {
            // A begin date within the last second is allowed.
            try Self.check(time, in: Timestamp.first.timeIntervalSince1970...Timestamp.last.timeIntervalSince1970 + 1)
        }
        for time in [notBefore, deadline, timeLeft, relaxesAt] { try Self.check(time, in: Self.bootSeconds) }
        for count in [attempts, restarts, failures, fruitless] { try Self.check(count, in: 0...Self.largestCount) }
        for bytes in [received, sent, furthest, resumedAt ?? 0] { try Self.check(bytes, in: 0...Self.largestSize) }
    }

    /// The valid range of boot seconds. It is far larger than ``Limits/longestTimeout`` in both directions, but small
    /// enough for the wall clock.
    private static let bootSeconds = -5e10...5e10
    /// The largest valid count. It corresponds to an attempt in each millisecond of a year.
    private static let largestCount = 1 << 35
    /// The largest valid size in bytes. It is half as large as a 64-bit integer allows, so two sizes can be added.
    private static let largestSize: Int64 = 1 << 62

    private static func check<Number: Comparable>(_ number: Number?, in range: ClosedRange<Number>) throws {
        guard let number, !range.contains(number) else { return }
        throw StoreError(.damaged, "The database contains the invalid number \(number).")
    }

    private static func word<Word: RawRepresentable<String>>(_ text: String) throws -> Word {
        guard let word = Word(rawValue: text) else {
            throw StoreError(.damaged, "The database contains the unknown value '\(text)'.")
        }
        return word
    }
}

/// Functions for values that are stored as JSON in text columns.
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

    /// Returns a text that describes why a value is invalid.
    static func words(for error: any Error) -> String {
        switch error {
        case let error as StoreError: error.message
        case DecodingError.keyNotFound(let key, _): "A value '\(key.stringValue)' is missing."
        case DecodingError.typeMismatch(_, let context), DecodingError.valueNotFound(_, let context),
            DecodingError.dataCorrupted(let context):
            // The value itself is omitted, because it may contain secrets.
            "A value is invalid: \(context.codingPath.map(\.stringValue).joined(separator: "."))."
        default: "A value is invalid."
        }
    }
}
