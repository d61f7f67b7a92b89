import NightshiftAPI

extension BusObserver {
    /// What the services say, one reading for each source.
    var readings: [ProviderReading] {
        [
            reading(.upower, of: .upower),
            reading(.powerProfiles, of: isPresent(.powerProfiles) == true ? .powerProfiles : .hadessPowerProfiles),
            networkManagerReading,
            logindReading,
        ]
    }

    /// The readings where there is no bus, for the reason given.
    static func readings(withoutBus why: String) -> [ProviderReading] {
        [.upower, .powerProfiles, .networkManager, .logind].map { .absent($0, why) }
    }

    private var networkManagerReading: ProviderReading {
        var reading = reading(.networkManager, of: .networkManager)
        if reading.isPresent, foreign.isForeign, let name = foreign.name {
            reading.values = [:]
            reading.oddities.append("it leaves \(name) to others, so the kernel is asked about the network")
        }
        return reading
    }

    private var logindReading: ProviderReading {
        var reading = reading(.logind, of: .logind)
        if reading.isPresent, let refusal = lock.refusal {
            reading.oddities.append("Inhibit: it \(refusal.text)")
        }
        return reading
    }

    private func reading(_ source: DeviceValue.Source, of service: BusService) -> ProviderReading {
        guard let isPresent = isPresent(service) else { return .absent(source, "the bus has not answered") }
        guard isPresent else { return .absent(source, "not running") }
        var reading = ProviderReading(source: source, isPresent: true)
        for object in service.objects {
            if let failure = self[object].failure { reading.oddities.append("it \(failure.text)") }
            guard let properties = self[object].properties else { continue }
            let (values, oddities) = object.values(of: properties)
            reading.values.merge(values) { first, _ in first }
            reading.oddities += oddities
        }
        if let trouble { reading.oddities.append("its changes may be missed: the bus \(trouble.text)") }
        return reading
    }
}

extension BusObject {
    fileprivate func values(of properties: [String: BusValue]) -> (values: [DeviceKey: String], oddities: [String]) {
        switch self {
        case .upower: UPowerReading.power(properties)
        case .displayDevice: UPowerReading.battery(properties)
        case .powerProfiles, .hadessPowerProfiles: PowerProfilesReading.values(properties)
        case .networkManager: NetworkManagerReading.values(properties)
        case .logind: LogindReading.values(properties)
        }
    }
}
