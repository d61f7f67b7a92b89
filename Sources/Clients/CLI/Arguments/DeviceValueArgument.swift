import ArgumentParser
import NightshiftAPI

/// An override of one device value on the command line, such as `power=battery`.
struct DeviceValueArgument: Hashable, Sendable {
    var key: DeviceKey
    var text: String

    static func parse(_ argument: String) throws -> DeviceValueArgument {
        let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2 else { throw ValidationError("write a value as KEY=VALUE, such as power=battery") }
        let key = try DeviceValueArgument.key(String(parts[0]))
        let text = String(parts[1])
        var probe = DeviceConditions()
        guard probe.set(key, to: text) else {
            throw ValidationError("'\(text)' is not a value of \(key.rawValue). Valid values: \(key.grammar)")
        }
        return DeviceValueArgument(key: key, text: text)
    }

    static func key(_ text: String) throws -> DeviceKey {
        guard let key = DeviceKey(rawValue: text) else {
            let known = DeviceKey.allCases.map(\.rawValue).joined(separator: ", ")
            throw ValidationError("'\(text)' is not a key of the device. The keys are: \(known)")
        }
        return key
    }
}
