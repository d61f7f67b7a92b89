import NightshiftAPI

extension BusObserver {
    /// The readings of all services, one for each source.
    var readings: [ProviderReading] {
        [
            reading(.upower, of: .upower),
            reading(.powerProfiles, of: powerProfiles),
            networkManagerReading,
            logindReading,
        ]
    }

    /// The bus name of power-profiles-daemon to read. The newer name is preferred if it has an owner. If neither name
    /// has an owner, the one whose last values are still valid is used.
    private var powerProfiles: BusService {
        if isPresent(.powerProfiles) == true { return .powerProfiles }
        let isOlder = isPresent(.hadessPowerProfiles) == true || self[.powerProfiles].properties == nil
        return isOlder ? .hadessPowerProfiles : .powerProfiles
    }

    private var networkManagerReading: ProviderReading {
        var reading = reading(.networkManager, of: .networkManager)
        if foreign.isForeign, let name = foreign.name {
            reading.values = [:]
            reading.oddities.append("it does not manage \(name), so the network is read from the kernel")
        }
        return reading
    }

    private var logindReading: ProviderReading {
        var reading = reading(.logind, of: .logind)
        if reading.isPresent, let refusal = lock.refusal {
            reading.oddities.append("sleep cannot be prevented (\(refusal.text))")
        }
        return reading
    }

    private func reading(_ source: DeviceValue.Source, of service: BusService) -> ProviderReading {
        var reading =
            switch isPresent(service) {
            case true?: ProviderReading(source: source, isPresent: true)
            case false?: ProviderReading.absent(source, "not running")
            case nil: ProviderReading.absent(source, absence ?? "the bus has not answered")
            }
        for object in service.objects {
            if let failure = self[object].failure { reading.oddities.append(failure.text) }
            guard let properties = self[object].properties else { continue }
            let (values, oddities) = object.values(of: properties)
            reading.values.merge(values) { first, _ in first }
            reading.oddities += oddities
        }
        guard reading.isPresent else {
            if !reading.values.isEmpty { reading.oddities.append("its last values remain valid for some seconds") }
            return reading
        }
        if let trouble { reading.oddities.append("changes may be missed (\(trouble.text))") }
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
