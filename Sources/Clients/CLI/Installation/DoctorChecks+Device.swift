import NightshiftAPI
import NightshiftClient

extension DoctorChecks {
    /// Checks the device state and its sources.
    func checkDevice() async -> [Finding] {
        guard let device = try? await invocation.service.client.send(.device) else {
            return [.warn("device", "the service did not report the device state")]
        }
        return [Self.device(device), Self.front(device)]
    }

    /// Returns the finding about the device state. Missing sources are not an error, because the default values delay
    /// nothing.
    static func device(_ device: DeviceStatus) -> Finding {
        let assumed = device.values.filter { $0.source == .assumed && $0.value != "none" }.map(\.key.rawValue)
        let odd = device.providers.filter { $0.isPresent && $0.detail != nil }
        let missing = device.providers.filter { !$0.isPresent }.map(\.name.rawValue)
        if let reason = device.unreadable {
            return .warn(
                "device", "the stored settings and overrides cannot be read, so the defaults are used: \(reason)",
                advice: "Set them again with: nightshift device policy; nightshift device set")
        }
        if let odd = odd.first {
            return .warn("device", "\(odd.name.rawValue): \(odd.detail ?? "")", advice: "See: nightshift device")
        }
        guard !missing.isEmpty else { return .ok("device", "the system reports all values") }
        return .ok(
            "device",
            "without \(missing.joined(separator: ", ")); default values are used for \(assumed.joined(separator: ", "))"
        )
    }

    /// Returns the finding about the focused window. An unknown focus is not an error: apps can then report their state
    /// themselves.
    static func front(_ device: DeviceStatus) -> Finding {
        guard device.settings.followsFront else {
            return .ok("front", "apps do not follow their windows, as set with 'nightshift device policy'")
        }
        if let source = device.front.source { return .ok("front", "\(source.rawValue) reports the focused window") }
        return Finding(
            check: "front", result: .ok,
            detail: "the focused window is unknown: \(device.front.detail ?? "no source reports it")",
            advice: "Launchers can call 'nightshift app activate ID' and 'nightshift app background ID'. Apps can call "
                + "Application.enterForeground() and enterBackground().")
    }
}
