import Foundation
import NightshiftAPI
import Testing

@testable import LocalAPI

/// Tests that compare the numbers and texts of the OpenAPI document with the constants of the program that they repeat.
@Suite struct OpenAPILimitTests {
    private let document: JSONValue

    private static let read = Result { try JSON.decode(JSONValue.self, from: Data(OpenAPI.document)) }

    init() throws {
        document = try Self.read.get()
    }

    /// The upper bounds in the OpenAPI document that are limits of the service. Each is named by a path below
    /// `/components/schemas`, such as `Type/property`, or by a complete JSON pointer.
    private static let limits: [(place: String, keyword: String, limit: Double)] = [
        ("ServiceSettings/maximumTransfers", "maximum", Double(Limits.runningTransfers)),
        ("EnqueueRequest/tasks", "maxItems", Double(Limits.tasksPerRequest)),
        ("RetryRequest/tasks", "maxItems", Double(Limits.tasksPerRequest)),
        ("SessionEnqueueRequest/tasks", "maxItems", Double(Limits.tasksPerRequest)),
        ("MessageAcknowledgement/messages", "maxItems", Double(Limits.tasksPerRequest)),
        ("TaskActionRequest/tasks", "maxItems", Double(Limits.tasksPerAction)),
        ("TaskRequest/headers", "maxItems", Double(Limits.headerFields)),
        ("RetargetRequest/headers", "maxItems", Double(Limits.headerFields)),
        ("SessionSettings/headers", "maxItems", Double(Limits.headerFields)),
        ("TaskRequest/form", "maxItems", Double(Limits.formFields)),
        ("TaskRequest/mirrors", "maxItems", Double(Limits.mirrors)),
        ("TaskRequest/mirrors/items", "maxLength", Double(Limits.urlLength)),
        ("TaskRequest/url", "maxLength", Double(Limits.urlLength)),
        ("TaskRequest/proxy", "maxLength", Double(Limits.urlLength)),
        ("SessionSettings/proxy", "maxLength", Double(Limits.urlLength)),
        ("RetargetRequest/url", "maxLength", Double(Limits.urlLength)),
        ("RetargetRequest/mirrors", "maxItems", Double(Limits.mirrors)),
        ("RetargetRequest/mirrors/items", "maxLength", Double(Limits.urlLength)),
        ("RetargetRequest/proxy", "maxLength", Double(Limits.urlLength)),
        ("RetargetRequest/connections", "maximum", Double(Limits.connectionsPerTask)),
        ("RetargetRequest/idleTimeout", "maximum", Limits.longestTimeout),
        ("RefreshChange/dailyEnergy", "maximum", Limits.dailyBudget),
        ("RefreshChange/dailyBytes", "maximum", Limits.dailyBudget),
        ("AppRefreshChange/dailyCap", "maximum", Double(Limits.dailyFetches)),
        ("TaskRequest/connections", "maximum", Double(Limits.connectionsPerTask)),
        ("TaskRequest/idleTimeout", "maximum", Limits.longestTimeout),
        ("TaskRequest/resourceTimeout", "maximum", Limits.longestTimeout),
        ("SessionSettings/idleTimeout", "maximum", Limits.longestTimeout),
        ("SessionSettings/resourceTimeout", "maximum", Limits.longestTimeout),
        ("TaskRequest/description", "maxLength", Double(Limits.descriptionLength)),
        ("TaskChange/description", "maxLength", Double(Limits.descriptionLength)),
        ("TaskRequest/clientData", "maxLength", Double(Limits.clientDataLength)),
        ("TaskChange/clientData", "maxLength", Double(Limits.clientDataLength)),
        ("RetargetRequest/clientData", "maxLength", Double(Limits.clientDataLength)),
        ("SessionTaskRequest/clientData", "maxLength", Double(Limits.clientDataLength)),
        ("MessageAnswer/clientData", "maxLength", Double(Limits.clientDataLength)),
        ("FormField/source", "maxLength", Double(Limits.pathLength)),
        ("Destination/directory", "maxLength", Double(Limits.pathLength)),
        ("AppID", "maxLength", Double(Limits.pathLength)),
        ("TaskRequest/source", "maxLength", Double(Limits.pathLength)),
        ("InstallRequest/entry", "maxLength", Double(Limits.pathLength)),
        ("/paths/~1v1~1process~1commands/get/parameters/0/schema", "maxLength", Double(Limits.pathLength)),
        ("/paths/~1v1~1process~1location~1updates/get/parameters/0/schema", "maximum", LocationUpdateRequest.longest),
        ("/paths/~1v1~1process~1location~1updates/get/parameters/1/schema", "maximum", LocationUpdateRequest.longest),
        ("SessionID", "maxLength", Double(Limits.sessionIdentifierLength)),
        ("BackgroundTaskRequest/name", "maxLength", Double(Limits.backgroundTaskNameLength)),
        ("SessionTaskRequest/taskIdentifier", "maximum", Double(Limits.taskIdentifier)),
        ("/components/parameters/Limit/schema", "maximum", Double(Limits.pageSize)),
        ("ScheduledTask/identifier", "maxLength", Double(Limits.taskIdentifierLength)),
        ("ScheduledTask/title", "maxLength", Double(Limits.taskTitleLength)),
        ("ScheduledTask/subtitle", "maxLength", Double(Limits.taskTitleLength)),
        ("ScheduledTaskProgress/title", "maxLength", Double(Limits.taskTitleLength)),
        ("ScheduledTaskProgress/subtitle", "maxLength", Double(Limits.taskTitleLength)),
        ("MonitoredRegion/identifier", "maxLength", Double(Limits.regionIdentifierLength)),
        ("/components/parameters/RegionIdentifier/schema", "maxLength", Double(Limits.regionIdentifierLength)),
        ("MonitoredRegion/radius", "maximum", MonitoredRegion.largestRadius),
        ("AppNotification/identifier", "maxLength", Double(Limits.notificationIdentifierLength)),
        ("AppNotification/title", "maxLength", Double(Limits.notificationText)),
        ("AppNotification/subtitle", "maxLength", Double(Limits.notificationText)),
        ("AppNotification/body", "maxLength", Double(Limits.notificationText)),
        ("AppNotification/thread", "maxLength", Double(Limits.notificationIdentifierLength)),
        ("AppNotification/category", "maxLength", Double(Limits.notificationIdentifierLength)),
        ("AppNotification/sound", "maxLength", Double(Limits.notificationIdentifierLength)),
        ("AppNotification/userInfo", "maxLength", Double(Limits.notificationText)),
        ("AppNotification/badge", "maximum", Double(Limits.badge)),
        ("BadgeChange/count", "maximum", Double(Limits.badge)),
        ("AppNotification/actions", "maxItems", Double(Limits.notificationActions)),
        ("NotificationAction/identifier", "maxLength", Double(Limits.notificationIdentifierLength)),
        ("NotificationAction/title", "maxLength", Double(Limits.notificationIdentifierLength)),
        ("NotificationCategory/identifier", "maxLength", Double(Limits.notificationIdentifierLength)),
        ("NotificationCategory/actions", "maxItems", Double(Limits.notificationActions)),
        ("NotificationCategories/categories", "maxItems", Double(Limits.notificationCategories)),
        ("NotificationRequest/delay", "maximum", Limits.longestTimeout),
        ("PushEnrolmentRequest/url", "maxLength", Double(Limits.urlLength)),
        ("PushEnrolmentRequest/authority", "maxLength", Double(Limits.pathLength)),
        ("DeviceChange/expirationLead", "maximum", DeviceSettings.leadAllowed.upperBound),
        ("CommandAcknowledgement/presentation", "maximum", Double(CommandAcknowledgement.presentations.upperBound)),
    ]

    /// The upper bounds that are not constants of the service: limits of the value's type, a percentage, a fraction, a
    /// status, degrees, the digits of the longest digest, and a literal in the checks of requests.
    private static let unnamed: [(keyword: String, limit: Double)] = [
        ("maximum", Double(Int64.max)), ("maximum", Double(Int32.max)), ("maximum", 100), ("maximum", 1),
        ("maximum", 599), ("maximum", 90), ("maximum", 180),
        ("maxLength", 128), ("maxLength", 32),
    ]

    /// Returns the JSON pointer for a path in ``limits``.
    private static func pointer(_ place: String) -> String {
        if place.hasPrefix("/") { return place }
        let parts = place.split(separator: "/", maxSplits: 1)
        return "/components/schemas/" + parts[0] + (parts.count > 1 ? "/properties/" + parts[1] : "")
    }

    /// Returns the value at a JSON pointer.
    private func value(at pointer: String) -> JSONValue {
        pointer.split(separator: "/").reduce(document) { value, part in
            if let members = value.array { return Int(part).map { members[$0] } ?? .null }
            return value[String(part).replacing("~1", with: "/").replacing("~0", with: "~")]
        }
    }

    @Test func `The upper bounds of the OpenAPI document equal the limits of the service`() {
        for (place, keyword, limit) in Self.limits {
            #expect(value(at: Self.pointer(place))[keyword] == .number(limit), "\(place) \(keyword)")
        }
    }

    @Test func `The tests compare every upper bound in the OpenAPI document with a limit`() {
        let held = Set(Self.limits.map { "\(Self.pointer($0.place)) \($0.keyword)" })
        var found: [String] = []
        func check(_ value: JSONValue, _ path: [String]) {
            for keyword in ["maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"] {
                guard case .number(let number) = value[keyword] else { continue }
                let place = "\(JSONPointer.string(path)) \(keyword)"
                if !Self.unnamed.contains(where: { $0 == (keyword, number) }) { found.append(place) }
            }
            for (key, member) in value.object ?? [:] { check(member, path + [key]) }
            for (index, member) in (value.array ?? []).enumerated() { check(member, path + [String(index)]) }
        }
        check(document, [])
        #expect(Set(found).subtracting(held) == [])
        #expect(found.count > 20)
    }

    @Test func `The OpenAPI document has the lower bound of the expiration warning time`() {
        let lead = value(at: Self.pointer("DeviceChange/expirationLead"))
        #expect(lead["minimum"] == .number(DeviceSettings.leadAllowed.lowerBound))
    }

    @Test(arguments: [
        ("SessionID", "\(Limits.sessionIdentifierLength) bytes of UTF-8"),
        ("TaskRequest/body", "at most \(Limits.downloadBody) bytes"),
        ("SessionSettings/httpMaximumConnectionsPerHost", "Values above \(Limits.connectionsPerHost) are"),
        ("/paths/~1v1~1process~1snapshot/put/requestBody", "at most \(Limits.snapshotBytes) bytes"),
        ("AppRefreshStatus/fetches", "The last \(Limits.fetches) fetches"),
        ("AppLocationStatus/regions", "at most \(Limits.regions)"),
    ])
    func `The descriptions in the OpenAPI document contain the limits`(place: String, text: String) throws {
        let description = try #require(value(at: Self.pointer(place))["description"].string)
        #expect(description.contains(text))
    }

    @Test func `The OpenAPI document lists the overrides of all device values with their grammar`() {
        let overrides = value(at: Self.pointer("DeviceChange/overrides"))["properties"].object ?? [:]
        #expect(Set(overrides.keys) == Set(DeviceKey.allCases.map(\.rawValue)))
        for key in DeviceKey.allCases {
            #expect(overrides[key.rawValue]?["description"] == .string(key.grammar), "\(key)")
        }
    }

    @Test func `The OpenAPI document has the version of the program`() {
        #expect(document["info"]["version"] == .string(NightshiftVersion.current))
    }
}
