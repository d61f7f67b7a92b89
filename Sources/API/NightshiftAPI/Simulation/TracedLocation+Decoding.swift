import Foundation

extension TracedRegion: Decodable {
    enum CodingKeys: String, CodingKey, CaseIterable {
        case identifier, center, radius, entry, exit, remove
    }

    package init(from decoder: any Decoder) throws {
        let traced = try TraceObject(decoder, keys: CodingKeys.self)
        guard let identifier = try traced.text(.identifier, limit: Limits.regionIdentifierLength), !identifier.isEmpty
        else {
            throw TraceMistake("'region' needs 'identifier', such as home")
        }
        let (center, radius) = (
            try traced.text(.center, limit: 128), try traced.number(.radius, in: 0...MonitoredRegion.largestRadius)
        )
        let (entry, exit) = (try traced.truth(.entry), try traced.truth(.exit))
        if try traced.truth(.remove) ?? false {
            guard center == nil, radius == nil, entry == nil, exit == nil else {
                throw TraceMistake("a region that is removed must have only 'identifier'")
            }
            self.init(identifier: identifier, region: nil)
            return
        }
        guard let center, let radius else {
            throw TraceMistake("'region' needs a 'center', such as \"52.5163,13.3777\", and a 'radius' in metres")
        }
        // A centre has no accuracy, so it contains exactly one comma.
        guard center.filter({ $0 == "," }).count == 1, let place = LocationOverride(center)?.place else {
            throw TraceMistake("'center' must be a latitude and a longitude in degrees, such as \"52.5163,13.3777\"")
        }
        self.init(
            identifier: identifier,
            region: MonitoredRegion(
                identifier: identifier, center: place, radius: radius, notifiesOnEntry: entry ?? true,
                notifiesOnExit: exit ?? true))
    }
}

extension TracedLocation: Decodable {
    enum CodingKeys: String, CodingKey, CaseIterable {
        case permission, changes
    }

    package init(from decoder: any Decoder) throws {
        let traced = try TraceObject(decoder, keys: CodingKeys.self)
        self.init()
        permission = try traced.word(.permission, as: LocationPermission.self)
        changes = try traced.truth(.changes)
        if self == TracedLocation() { throw TraceMistake("'location' must contain at least one change") }
    }
}
