import Foundation
import LocalAPI
import NightshiftAPI

/// A device that accepts every change. It enters the requested phase of doze, and refuses a request for its current
/// phase.
actor TestDevice {
    private var settings = DeviceSettings()
    private var phase = DozePhase.awake

    nonisolated var access: DeviceAccess {
        DeviceAccess(
            status: { await self.status }, change: { await self.change($0) }, request: { try await self.request($0) })
    }

    private var status: DeviceStatus {
        var conditions = DeviceConditions()
        for (key, value) in settings.overrides { _ = conditions.set(key, to: value) }
        return DeviceStatus(
            conditions: conditions, values: [], providers: [],
            doze: DozeStatus(phase: phase, since: Date(timeIntervalSince1970: 1_800_000_000)), holders: [],
            settings: settings)
    }

    private func change(_ change: DeviceChange) -> DeviceStatus {
        if let policy = change.backgroundPolicy { settings.backgroundPolicy = policy }
        if let lead = change.expirationLead { settings.expirationLead = lead }
        for (key, value) in change.overrides ?? [:] { settings.overrides[key] = value }
        if let followsFront = change.followsFront { settings.followsFront = followsFront }
        return status
    }

    private func request(_ phase: DozePhase) throws -> DeviceStatus {
        guard phase != self.phase else { throw Problem.conflict("It does that already.") }
        self.phase = phase
        return status
    }
}
