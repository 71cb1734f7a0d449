#include "agent/stacks/testing/image_memory.h"

#include <elf.h>

#include <cstring>

namespace lockstep {

bool ImageMemory::Read(uint64_t address, void* to, size_t bytes) {
  ++reads;
  if (before_read) before_read(address);
  for (size_t i = 0; i < bytes; ++i) {
    const auto page = pages_.find((address + i) / kPage);
    if (page == pages_.end()) return false;
    static_cast<char*>(to)[i] = page->second[(address + i) % kPage];
  }
  return true;
}

void ImageMemory::Write(uint64_t address, absl::string_view bytes) {
  for (size_t i = 0; i < bytes.size(); ++i) {
    pages_.try_emplace((address + i) / kPage, kPage, '\0').first->second[(address + i) % kPage] = bytes[i];
  }
}

std::string ImageMemory::Flat(uint64_t begin) const {
  std::string flat;
  for (const auto& [page, bytes] : pages_) {
    if (page * kPage < begin) continue;
    flat.resize(page * kPage - begin, '\0');
    flat += bytes;
  }
  return flat.substr(0, flat.find_last_not_of('\0') + 1);
}

void PutElfHeaders(ImageMemory& memory, uint64_t base, const std::vector<ElfPart>& parts) {
  Elf64_Ehdr header = {};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_phoff = sizeof header;
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = static_cast<uint16_t>(parts.size());
  memory.Put(base, header);
  uint64_t at = base + sizeof header;
  for (const ElfPart& part : parts) {
    Elf64_Phdr written = {};
    written.p_type = part.type;
    written.p_vaddr = part.address;
    memory.Put(at, written);
    at += sizeof written;
  }
}

}  // namespace lockstep
