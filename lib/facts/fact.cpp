#include "facts/fact.hpp"

namespace imgforge {

Evidence Evidence::in_layer(std::string layer, std::string path) {
  Evidence evidence;
  evidence.layer = std::move(layer);
  evidence.path = std::move(path);
  return evidence;
}

Evidence Evidence::in_config(std::string key) {
  Evidence evidence;
  evidence.config = std::move(key);
  return evidence;
}

Evidence Evidence::in_label(std::string name) {
  Evidence evidence;
  evidence.label = std::move(name);
  return evidence;
}

Evidence Evidence::at(Place place) {
  Evidence evidence;
  evidence.place = std::move(place);
  return evidence;
}

}  // namespace imgforge
