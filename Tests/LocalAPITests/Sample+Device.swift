import Foundation
import NightshiftAPI

/// Samples of the device and background time.
extension Sample {
    static var deviceRequests: [Sample] {
        get throws {
            let task = BackgroundTaskRequest(number: 1, name: "n")
            return [
                try Sample(
                    DeviceChange(
                        backgroundPolicy: BackgroundPolicy(.contiguous, seconds: 60), expirationLead: 10,
                        overrides: [.power: "battery"], followsFront: false), least: DeviceChange(), isRequest: true),
                try Sample(DozeRequest(phase: .window), least: DozeRequest(phase: .awake), isRequest: true),
                try Sample(task, least: task, isRequest: true),
                try Sample(AppChange(backgroundPolicy: "default"), least: AppChange(), isRequest: true),
            ]
        }
    }

    static let leastBackground = BackgroundStatus(policy: .brief, policySource: .manifest)

    static var deviceAnswers: [Sample] {
        get throws {
            let conditions = full
            let doze = DozeStatus(
                phase: .window, since: date, awakeReason: .held, windowReason: .maintenance, until: date)
            let holder = AwakeHolder(app: AppID(rawValue: "a"), tasks: ["t"], since: date)
            let value = DeviceValue(key: .power, value: "battery", source: .upower)
            let provider = DeviceProvider(name: .logind, isPresent: false, detail: "d")
            var settings = DeviceSettings()
            settings.overrides = [.idle: "yes"]
            let device = DeviceStatus(
                conditions: conditions, values: [value], providers: [provider], doze: doze, holders: [holder],
                settings: settings)
            var unreadable = device
            unreadable.unreadable = "r"
            let front = FrontStatus(source: .x11, detail: "d", app: AppID(rawValue: "a"))
            return [
                try Sample(front, least: FrontStatus()),
                try Sample(unreadable, least: device), try Sample(settings, least: DeviceSettings()),
                try Sample(conditions, least: DeviceConditions()),
                try Sample(conditions.network, least: NetworkConditions()), try Sample(value, least: value),
                try Sample(provider, least: DeviceProvider(name: .upower, isPresent: true)),
                try Sample(doze, least: DozeStatus(phase: .dozing, since: date)), try Sample(holder, least: holder),
                try Sample(TransferRules(), least: TransferRules()),
                try Sample(background, least: leastBackground),
                try Sample(background.tasks[0], least: background.tasks[0]),
                try Sample(background.stints[0], least: BackgroundRun(began: date)),
            ]
        }
    }

    private static var full: DeviceConditions {
        var conditions = DeviceConditions()
        conditions.batteryPercentage = 42
        conditions.freeBytes = 1
        conditions.network.name = "home"
        return conditions
    }

    private static var background: BackgroundStatus {
        var background = leastBackground
        background.remaining = 12
        background.tasks = [BackgroundTaskStatus(name: "t", since: date)]
        var backgroundRun = BackgroundRun(began: date)
        backgroundRun.ended = date
        backgroundRun.tasks = ["t"]
        backgroundRun.wakes = [.sessionEvents]
        backgroundRun.end = .suspended
        background.stints = [backgroundRun]
        return background
    }
}
